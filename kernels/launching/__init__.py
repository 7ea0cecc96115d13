"""Cached launches: the first call of a kind writes down what it launches, and calls like it launch that.

Python that validates, plans and describes costs hundreds of microseconds. Nothing that it decides depends on
the numbers in a tensor. So it runs once for each key: meaning, shapes, strides and device of the operands.

    launch.py       what launchers call: launch, empty, zeros, operation, constant
    trace.py        what a first call launches and allocates, written down by launch.py
    launch_list.py  the launches of a trace, with all arguments in memory, for calls with other tensors
    parameters.py   a compiled kernel's parameters, as CUDA's driver takes them
    driver.py       the calls of CUDA's driver
    cache.py        launch lists by key
    tokens.py       keys
    stream_zeros.py zeros of a stream, for split-K counters
    stub.py         the C function that launches, built ahead
    early_kernel.py how a kernel waits that starts while others end
    gradients.py    refusal of tensors that require a gradient
"""
