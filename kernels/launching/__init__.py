"""Cached launches: the first call for a key records its launches, later calls repeat them.

Validating, planning and launching takes hundreds of microseconds of Python, and decides nothing by the
numbers in a tensor. So it runs once for each key: operands, shapes, strides and device.

    cache.py        launch lists by key, and keys; a call starts here
    launch.py       functions for launchers, which record themselves: launch, empty, filled, …
    trace.py        the record of a first call
    launch_list.py  the launches of a trace, repeated for other tensors
    parameters.py   a compiled kernel's parameters, as CUDA's driver takes them
    driver.py       the calls of CUDA's driver
    stream_zeros.py zeros of a stream, for counters of split-K and cooperative launches
    cache_keys.py   Triton's keys of kernels, equal in every process
    early_kernel.py the wait of a kernel that starts before others end
"""
