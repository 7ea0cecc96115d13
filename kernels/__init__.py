"""Triton kernels for the tiles and scales of fp8core: how fast they run, and on what."""
