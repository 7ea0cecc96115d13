"""Check and time whatever the recipes ask of a GPU, on shapes and numbers that a seed draws anew."""
