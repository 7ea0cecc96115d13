"""Triton kernels for the tiles and scales of fp8core: read gemm/__init__.py, then quantize/__init__.py."""
