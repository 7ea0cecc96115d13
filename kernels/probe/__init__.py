"""Is this GPU's tensor core the model? `python -m kernels.probe` compares bits."""
