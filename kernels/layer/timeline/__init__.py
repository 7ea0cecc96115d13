"""A layer's step on a timeline: each kernel of forward and backward, in bf16 and in FP8 by several ways.

row.py      job (TimelineJob), result (LayerRow) and recorded rows
ways.py     the ways to run a step; casts.py: FP8 by torch's operations
trace.py    kernels from torch's profile
measure.py  the command; all ways in turns, then each kernel by kernel
"""
