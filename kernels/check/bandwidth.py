"""The speed of a quantizer as a share of a copy that moves as many bytes in the same turns.

x counts as often as a kernel reads it: twice, where a scale needs an amax that no programs hold together.
"""

from functools import partial

import torch

from fp8core.recipes import Operand
from kernels.bench.ceilings.limits import GB_S, limits_of
from kernels.bench.operands import held_bytes, quantized
from kernels.bench.timing import Contender, buffer_sets
from kernels.check.compiling.codes import QuantizerCode
from kernels.check.names import COPY, SHARE_OF_COPY
from kernels.check.products import normal
from kernels.check.report import Figure, Group, Line, Verdict
from kernels.check.speed import timed
from kernels.device import Device
from kernels.quantize.plan import plan_quantize
from kernels.strips.plan import panel_rows

_SHAPE = (8192, 8192)
_SEED = 1


def bandwidth_code(operand: Operand) -> QuantizerCode:
    """The quantizer that is timed beside a copy."""
    return QuantizerCode(operand=operand, shape=_SHAPE, seed=_SEED, steps=1)


def beside_a_copy(name: str, operand: Operand, device: Device, uuid: str) -> Line:
    """The report line of one quantizer: bytes that it reads and writes, over its time."""
    given = [normal(_SHAPE, 0, device.place)]
    history = given[0].abs().amax().float().reshape(1) if operand.spec.scale_rule.history else None
    plan = plan_quantize(operand.spec, *operand.stored(_SHAPE), side_by_side=not operand.k_is_rows)
    held = operand.k_is_rows and panel_rows(operand.spec, *operand.stored(_SHAPE), device)
    moved = (1 if held else plan.reads(operand.spec)) * given[0].nbytes
    moved += held_bytes(quantized(given[0], operand, _SEED, history))
    sets = buffer_sets(moved, device.l2_bytes)
    given += [normal(_SHAPE, number, device.place) for number in range(1, sets)]
    launches = [partial(quantized, x, operand, _SEED, history) for x in given]
    halves = [torch.ones(moved // 2 // torch.float32.itemsize, device=device.place) for _ in range(sets)]
    target = torch.empty_like(halves[0])
    copies = [partial(torch.neg, half, out=target) for half in halves]
    times, _ = timed([Contender(name, launches), Contender(COPY, copies)], uuid)
    rate, share = moved / times[name] / 1e3, times[COPY] / times[name]
    fault = limits_of(device).memory_fault(rate)
    return Line(
        name=name,
        group=Group.SPEED,
        verdict=Verdict.FAIL if fault else Verdict.PASS,
        detail=f"Wrong: {fault}."
        if fault
        else f"{rate:,.0f} {GB_S}, {share:.0%} of the copy of the same turns.",
        figures=() if fault else (Figure("rate", rate, GB_S), Figure(SHARE_OF_COPY, share)),
    )
