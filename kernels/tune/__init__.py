"""Search for the best blocks on this GPU. `python -m kernels.tune` keeps them in assets/tuned."""
