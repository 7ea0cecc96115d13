"""The cost model: microseconds of one hot launch, from a launch's work and a GPU's constants. Pure; no torch.

| part of the time | is |
|---|---|
| launch | a constant of the body |
| multiplying | waves of units · (steps along K · time of a step + all else that a block takes) |
| a step | the longer of multiplying and of what an SM takes from the L2 in it |
| memory, L2 | bytes / bandwidth, of as many SMs as have work; both run beside multiplying |
| sums of runs | where programs share a block, the last one reads all parts of its sum, or goes on with one |
| passes | each one a launch more, and its bytes |
"""

from kernels.gemm.cost.constants import Constants, Of
from kernels.gemm.cost.work import Work

_NS_A_US = 1e3
_SEAM = 8.0
"""How little of the shorter of a step's two times shows. Its value matters little; a fit needs some slope."""


def predict_us(work: Work, constants: Constants) -> float:
    """The microseconds of a launch with everything before it."""
    shared, body = constants.shared, constants.body(work.variant.body)
    rate = constants.rate(work.variant)
    full, last = work.waves
    latency = shared.latency_ns / work.stages
    loaded = work.step_bytes / shared.sm_gb_s + work.zero_rows * shared.zero_row_ns  # bytes / (GB/s) are ns

    def step_ns(together: int) -> float:
        multiplied = max(together, body.alone) * rate.step_ns
        return max(latency, _longer(multiplied, together * loaded, _SEAM))

    def unit_ns(together: int, steps: int) -> float:
        return steps * step_ns(together) + rate.fixed_ns * (1 + together) / 2

    multiplying = full * unit_ns(work.resident, work.steps) + (unit_ns(last, work.steps) if last else 0.0)
    if work.uneven:  # a share may end more blocks than one
        multiplying += max(0.0, work.steps / work.whole_steps - 1) * rate.fixed_ns
    if work.whole:
        multiplying += work.whole / work.programs * unit_ns(work.resident, work.whole_steps)
    busy = min(1.0, work.units / work.sms)
    traffic = work.read_bytes + shared.write_cost * work.written_bytes * (
        1 + shared.page_bytes / work.written_run
    )
    few = 1 + shared.idle * (1 - busy)  # fewer SMs leave memory waiting more often
    memory = traffic / min(shared.dram_gb_s / few, busy * work.sms * shared.sm_gb_s)
    cache = work.l2_bytes / (shared.l2_gb_s * busy)
    beside = _longer(memory, cache, shared.sharpness)
    cold_ns = _longer(multiplying, beside, shared.sharpness) + body.launch_us * _NS_A_US
    duty = min(1.0, work.all_steps * step_ns(work.resident) / work.resident / (work.sms * cold_ns))
    multiplying *= 1 + shared.heat * duty  # the card lowers its clock
    total = body.launch_us + _longer(multiplying, beside, shared.sharpness) / _NS_A_US
    total += _sums_us(work, body, full)
    for each in work.passes:
        total += shared.pass_us + each.bytes / shared.pass_gb_s(each.bits) / _NS_A_US
    return total


def _longer(one: float, other: float, sharpness: float) -> float:
    """The longer of two times that overlap, with a little of the shorter one."""
    return (one**sharpness + other**sharpness) ** (1 / sharpness)


def _sums_us(work: Work, body: Of, full_waves: int) -> float:
    """What it takes to add the sums of runs of K; nothing where no programs share a block. Where parts are
    uneven, a program writes one sum and reads one.
    """
    part_us = work.sum_bytes / body.split_gb_s / _NS_A_US
    if work.uneven:
        return body.uneven_us + 2 * part_us
    if work.runs == 1:
        return 0.0
    once = body.split_us + work.runs * (body.run_us + part_us)
    if work.programs < work.units:
        return once
    return once + full_waves * (body.again_us + part_us)  # a program ends with its run: the next starts anew
