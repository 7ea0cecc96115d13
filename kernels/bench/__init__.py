"""How fast are the kernels, and how exact? `python -m kernels.bench` measures and records them."""
