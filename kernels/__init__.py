"""How fast, on what: the same tiles and scales as fp8core, as Triton kernels, with what they measured."""
