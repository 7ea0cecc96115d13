"""Warp-specialized kernels in Gluon, for sm_90: one warp loads, others multiply."""
