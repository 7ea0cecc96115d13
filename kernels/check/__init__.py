"""Does FP8 work on this GPU? `python -m kernels.check` answers line by line; a page asks through
the worker.
"""
