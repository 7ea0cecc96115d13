"""Does FP8 work on this GPU? `python -m kernels.check`, or a page through the worker, answers."""
