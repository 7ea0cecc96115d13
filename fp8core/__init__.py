"""What is true of FP8: formats, rounding, tiles, scales, recipes, accumulators and errors, in numpy."""
