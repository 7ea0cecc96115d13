"""Facts about FP8, in numpy: formats, rounding, tiles, scales, recipes, accumulators and errors."""
