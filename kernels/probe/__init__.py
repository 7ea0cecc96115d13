"""Does this GPU's tensor core add as its model does? `python -m kernels.measure probe` compares bits."""
