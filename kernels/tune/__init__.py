"""Which blocks are best on this GPU? `python -m kernels.tune` finds them and keeps them in assets/tuned."""
