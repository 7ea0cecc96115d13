"""The time that a GEMM will take under given blocks, predicted from a few constants a GPU. Pure; no torch."""
