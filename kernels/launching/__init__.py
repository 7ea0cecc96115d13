"""Warm launches: the first call of a kind is recorded as a tape, and calls like it replay the tape.

Python that checks, plans and describes costs hundreds of microseconds. Nothing that it decides depends on the
numbers in a tensor. So it runs once for each key: what the operands mean, their shapes, strides and device.

    tokens.py     what makes two calls alike
    recording.py  a call on record: its kernel launches, its allocations and torch's own operations
    tape.py       the steps that are left of it, with other pointers
    burst.py      a tape of memory and launches alone, replayed in three sweeps
    prepared.py   one kernel launch whose arguments lie ready in memory
    parameters.py a compiled kernel's arguments, as CUDA's driver takes them
    cuda.py       the calls of CUDA's driver
    warm.py       the tapes that are kept
    early_kernel.py  how a kernel waits that starts while others end
    launch.py     how launchers launch, whether they are on record or not
"""
