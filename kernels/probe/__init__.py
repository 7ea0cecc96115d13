"""Does this GPU's tensor core add as its model does? `python -m kernels.probe` compares bits."""
