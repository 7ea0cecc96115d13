"""Cached launches: the first call for a key records its launches, and later calls repeat them.

Python that validates, plans and launches costs hundreds of microseconds, and decides nothing by the numbers
in a tensor. So it runs once for each key: operands, shapes, strides and device.

    cache.py        launch lists by key; a call starts here
    tokens.py       keys
    launch.py       functions for launchers: launch, empty, filled, operation, constant; each records itself
    trace.py        the record of a first call
    launch_list.py  the launches of a trace, repeated for other tensors
    parameters.py   a compiled kernel's parameters, as CUDA's driver takes them
    driver.py       the calls of CUDA's driver
    stream_zeros.py zeros of a stream, for counters of split-K and cooperative launches
    stub.py         Triton's C function for a launch, built ahead
    early_kernel.py the wait of a kernel that starts before others end
    gradients.py    refusal of tensors that require a gradient
"""
