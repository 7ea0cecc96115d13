"""Kernels in `tl`, for every GPU and the interpreter: the ones to read first."""
