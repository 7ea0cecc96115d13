"""The cost model: microseconds of one hot launch, from a launch's work and a GPU's constants. Pure; no torch.

| part of the time | is |
|---|---|
| launch | a constant of the body |
| multiplying | waves of units · (steps along K · time of a step + all else that a block takes) |
| memory, L2 | bytes / bandwidth, of as many SMs as have work; both run beside multiplying |
| sums of runs | where programs share a block, the last one reads all parts of its sum |
| passes | each one a launch more, and its bytes |
"""

from kernels.gemm.cost.constants import Constants
from kernels.gemm.cost.work import Work

_NS_A_US = 1e3


def predict_us(work: Work, constants: Constants) -> float:
    """The microseconds of a launch with everything before it."""
    shared, body = constants.shared, constants.body(work.variant.body)
    rate = constants.rate(work.variant)
    full, last = work.waves
    slowest_load = max(
        shared.latency_ns / work.stages, work.step_bytes / shared.sm_gb_s
    )  # of one program; bytes / (GB/s) are ns

    def unit_ns(together: int, steps: int) -> float:
        step = max(together * rate.step_ns, body.alone * rate.step_ns, slowest_load)
        return steps * step + rate.fixed_ns * (1 + together) / 2

    multiplying = full * unit_ns(work.resident, work.steps) + (unit_ns(last, work.steps) if last else 0.0)
    if work.whole:
        multiplying += work.whole / work.programs * unit_ns(work.resident, work.whole_steps)
    busy = min(1.0, work.units / work.sms)
    traffic = work.read_bytes + shared.write_cost * work.written_bytes * (
        1 + shared.page_bytes / work.written_run
    )
    memory = traffic / min(shared.dram_gb_s, busy * work.sms * shared.sm_gb_s)
    cache = work.l2_bytes / (shared.l2_gb_s * busy)
    power = shared.sharpness
    together = (multiplying**power + memory**power + cache**power) ** (1 / power)
    all_ns = together + body.launch_us * _NS_A_US
    duty = min(1.0, work.all_steps * rate.step_ns / (work.sms * all_ns))
    multiplying *= 1 + shared.heat * duty  # the card lowers its clock
    together = (multiplying**power + memory**power + cache**power) ** (1 / power)
    total = body.launch_us + together / _NS_A_US
    if work.runs > 1:
        total += body.split_us + work.runs * (body.run_us + work.sum_bytes / body.split_gb_s / _NS_A_US)
    for each in work.passes:
        total += shared.pass_us + each.bytes / shared.pass_gb_s(each.bits) / _NS_A_US
    return total
