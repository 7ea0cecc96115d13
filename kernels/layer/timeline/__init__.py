"""A layer's step on a timeline: each kernel of forward and backward, in bf16 and in fp8 made several ways.

row.py      what is measured (TimelineJob), its result (LayerRow), and recorded rows
ways.py     the ways in which a step is made; casts.py: FP8 by torch's own operations
trace.py    kernels out of torch's profile, with what each is for
measure.py  all ways in turns, then each kernel by kernel
"""
