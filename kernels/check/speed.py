"""The speed of a GPU: a copy, quantizers beside a copy, torch's matmuls in turns with every recipe's GEMM.

Each rate is compared with the one recorded for this GPU model. Where it is low, clock and power say why.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import torch

from fp8core.formats import FORMATS
from fp8core.recipes import Operand
from kernels.check.report import (
    COPY,
    SHARE_OF_COPY,
    TORCH_BF16,
    TORCH_FP8,
    Facts,
    Figure,
    Group,
    Line,
    Reference,
    Verdict,
)
from kernels.check.steps import QUANTIZED, ROUNDS, SPEED_SEED, DistinctGemm, Findings
from kernels.device import Device, Unsupported
from kernels.gemm.plan import plan_gemm
from kernels.measure.gemm import Buffers
from kernels.measure.jobs import COPY_BYTES, GemmJob
from kernels.measure.operands import Operands, normal, quantized
from kernels.measure.peak_rates import GB_S, TFLOP_S, limits_of
from kernels.measure.records import CEILINGS, GEMMS
from kernels.measure.rows import Ceilings, Peer, Row
from kernels.measure.timing import Contender, HotTurn, buffer_sets, copy_launch, interleaved
from kernels.measure.torch_peers import attempt, bf16_peer, fp8_peer
from kernels.nvml import Gauges, Watch
from kernels.paths import RECORDS
from kernels.quantize.plan import plan_quantize
from kernels.quantize.strips import panel_rows

TURN_US = 10_000.0
WARM_S = 0.3
NORMAL_SHARE = 0.85
"""Below this fraction of the recorded rate a line is slow: good cards of one model differ by less."""

_LOW_CLOCK = 0.9

_POWER_CAP = 1 << 2
_REASONS = (
    (1 << 6 | 1 << 5, "too hot"),
    (1 << 7, "held by the server's power brake"),
    (_POWER_CAP, "power-capped"),
    (1 << 3, "slowed by the hardware"),
    (1 << 1, "clocks fixed by a setting"),
    (1 << 4, "held to the clock of another GPU"),
)
"""Bits of NVML's nvmlClocksEventReasons that say that something slows work, the gravest first."""


R = TypeVar("R", Row, Ceilings)


@dataclass(frozen=True, kw_only=True)
class Turns:
    """Matmuls that took turns: microseconds by name, bf16 among them; verdicts of others, and why."""

    times: Mapping[str, float]
    untimed: Mapping[str, tuple[Verdict, str]]
    gauges: Gauges


def time_copy(findings: Findings, device: Device) -> Line:
    """The line of a copy, alone: it draws less power, and a matmul after it would find a higher clock."""
    facts = findings.facts
    times, gauges = time_turns([Contender(COPY, [copy_launch(COPY_BYTES)])], findings.uuid)
    gb_s, recorded = 2 * COPY_BYTES / times[COPY] / 1e3, newest(CEILINGS.read(RECORDS).rows, facts.gpu)
    return speed_line(
        COPY,
        gb_s,
        GB_S,
        facts=facts,
        gauges=gauges,
        reference=reference_of(recorded, recorded and recorded.rate(Peer.COPY)),
        fault=limits_of(device).memory_fault(gb_s),
    )


def time_quantizer(name: str, operand: Operand, findings: Findings, device: Device) -> Line:
    """The line of one quantizer: its speed as a share of a copy of as many bytes in the same turns.

    x counts as often as a kernel reads it: twice, where a scale needs an amax that no programs hold together.
    """
    x = normal(QUANTIZED, 0, device.place)
    history = x.abs().amax().float().reshape(1) if operand.spec.scale_rule.history else None
    plan = plan_quantize(operand.spec, *operand.stored(QUANTIZED), side_by_side=not operand.k_is_rows)
    in_panels = operand.k_is_rows and panel_rows(operand.spec, *operand.stored(QUANTIZED), device)
    moved = (1 if in_panels else plan.reads(operand.spec)) * x.nbytes
    moved += sum(each.nbytes for each in quantized(x, operand, SPEED_SEED, history).tensors)
    sets = buffer_sets(moved, device.l2_bytes)
    inputs = [x, *(normal(QUANTIZED, number, device.place) for number in range(1, sets))]
    launches = [partial(quantized, x, operand, SPEED_SEED, history) for x in inputs]
    copies = [copy_launch(moved // 2) for _ in range(sets)]
    times, _ = time_turns([Contender(name, launches), Contender(COPY, copies)], findings.uuid)
    rate, share = moved / times[name] / 1e3, times[COPY] / times[name]
    if fault := limits_of(device).memory_fault(rate):
        return Line(name=name, group=Group.SPEED, verdict=Verdict.FAIL, detail=f"Wrong: {fault}.")
    detail = f"{rate:,.0f} {GB_S}, {share:.0%} of the copy of the same turns."
    figures = (Figure("rate", rate, GB_S), Figure(SHARE_OF_COPY, share))
    return Line(name=name, group=Group.SPEED, verdict=Verdict.PASS, detail=detail, figures=figures)


def time_torch(cases: Sequence[DistinctGemm], findings: Findings, device: Device) -> Iterator[Line]:
    """The lines of torch's matmuls. Ours take turns with them only if one ran: Triton may be broken here."""
    job, ours = cases[0].timed, cases if findings.products else ()
    turns = take_turns(job, ours, findings, device, with_fp8=True)
    if ours:
        findings.turns[job.matmul] = turns
    torch_peers = [(TORCH_BF16, Peer.BF16, job), (TORCH_FP8, Peer.TORCH, job)]
    return _matmul_lines(torch_peers, turns, findings.facts, device)


def time_recipes(cases: Sequence[DistinctGemm], findings: Findings, device: Device) -> Iterator[Line]:
    job = cases[0].timed
    turns = findings.turns.get(job.matmul) or take_turns(job, cases, findings, device)
    ours = [(case.name, Peer.OURS, case.timed) for case in cases]
    return _matmul_lines(ours, turns, findings.facts, device)


def take_turns(
    first: GemmJob,
    cases: Sequence[DistinctGemm],
    findings: Findings,
    device: Device,
    *,
    with_fp8: bool = False,
) -> Turns:
    """Time our GEMMs of one matmul in turns with bf16 torch.mm and, on request, torch's fp8.

    All share one clock, so their ratios are fair. `first` gives the shape of torch's operands.
    """
    untimed: dict[str, tuple[Verdict, str]] = {}
    numbers = first.m * first.k + first.n * first.k + first.m * first.n
    sets = buffer_sets(numbers * FORMATS["bf16"].bytes, device.l2_bytes)
    operands = [Operands.normal(first, device).as_operands() for _ in range(sets)]
    contenders = [Contender(TORCH_BF16, [bf16_peer(a, b) for a, b in operands])]
    if with_fp8:
        fp8 = [fp8_peer(a, b) for a, b in operands]
        if error := attempt(fp8[0], operands[0][0].device):
            reason = f"torch {torch.__version__} has no fp8 matmul here: {str(error).splitlines()[0]}"
            untimed[TORCH_FP8] = Verdict.NOT_SUPPORTED, reason
        else:
            contenders.append(Contender(TORCH_FP8, fp8))
    for case in cases:
        job = case.timed
        plan = plan_gemm(job.spec, job.mnk, device, job.accumulation)
        if case.name in findings.wrong:
            untimed[case.name] = Verdict.NOT_RUN, "Not timed: its product is not right."
        elif isinstance(plan, Unsupported):
            untimed[case.name] = Verdict.NOT_SUPPORTED, plan.reason
        else:
            buffers = Buffers(job, plan, Operands.normal(job, device), device)
            contenders.append(buffers.ours(plan, case.name))
    times, gauges = time_turns(contenders, findings.uuid)
    return Turns(times=times, untimed=untimed, gauges=gauges)


def _matmul_lines(
    matmuls: Iterable[tuple[str, Peer, GemmJob]], turns: Turns, facts: Facts, device: Device
) -> Iterator[Line]:
    """The lines of matmuls, each recorded as a peer, beside the bf16 of the same turns."""
    rows, limits = GEMMS.read(RECORDS).rows, limits_of(device)
    for name, peer, job in matmuls:
        if name in turns.untimed:
            verdict, detail = turns.untimed[name]
            yield Line(name=name, group=Group.SPEED, verdict=verdict, detail=detail)
            continue
        row, is_bf16 = recorded_row(rows, facts.gpu, job), peer is Peer.BF16
        rate, bf16 = (job.flop / turns.times[each] / 1e6 for each in (name, TORCH_BF16))
        recorded_us = row and row.us(peer)
        yield speed_line(
            name,
            rate,
            TFLOP_S,
            facts=facts,
            gauges=turns.gauges,
            bf16=None if is_bf16 else bf16,
            reference=reference_of(row, recorded_us and job.flop / recorded_us / 1e6),
            recorded_clock_mhz=row.ours.clock_mhz if peer is Peer.OURS and row and row.ours else None,
            fault=(not is_bf16 and limits.fault(rate)) or limits.bf16_fault(bf16),
        )


def time_turns(contenders: list[Contender], uuid: str) -> tuple[dict[str, float], Gauges]:
    """Median microseconds of each contender, and the GPU's clock and power during the turns.

    A GPU that has waited for a compiler is at a low clock, so the turns run untimed first.
    """
    with Watch(uuid) as watch:
        turns = [HotTurn(contender, TURN_US) for contender in contenders]
        until = time.monotonic() + WARM_S
        while time.monotonic() < until:
            for turn in turns:
                turn.times_us()
        # The first one runs on under load: `watch` reads its clock.
        timings = interleaved(turns, ROUNDS, lambda done: None, loaded=lambda by_name: [contenders[0].name])
    return {name: timing.median_us for name, timing in timings.items()}, watch.gauges


def speed_line(
    name: str,
    rate: float,
    unit: str,
    *,
    facts: Facts,
    gauges: Gauges,
    bf16: float | None = None,
    reference: Reference | None = None,
    recorded_clock_mhz: float | None = None,
    fault: str = "",
) -> Line:
    """One line of speed: `rate` in `unit`, its ratio to `bf16` of the same turns, its share of the record.

    recorded_clock_mhz tells a warmer card at full power from a slow one. With a `fault`, the line has no
    figures.
    """
    if fault:
        return Line(name=name, group=Group.SPEED, verdict=Verdict.FAIL, detail=f"Wrong: {fault}.")
    figures = [Figure("rate", rate, unit)]
    detail = f"{rate:,.0f} {unit}"
    if bf16 is not None:
        figures.append(Figure("× bf16", rate / bf16))
        detail += f", {rate / bf16:.2f} times the bf16 of the same turns ({bf16:,.0f} {unit})"
    for label, value, in_unit in (("SM clock", gauges.clock_mhz, "MHz"), ("power", gauges.power_w, "W")):
        if value is not None:
            figures.append(Figure(label, value, in_unit))
    verdict = Verdict.PASS
    if reference is None:
        detail += f"; no speed of the {facts.gpu} is recorded to compare with."
    else:
        share = rate / reference.value
        detail += f"; {share:.0%} of the {reference.gpu} recorded on {reference.date}"
        if share >= NORMAL_SHARE:
            detail += ": normal."
        elif recorded_clock_mhz and gauges.clock_mhz and is_held_by_full_power(gauges, facts):
            is_normal = share >= NORMAL_SHARE * gauges.clock_mhz / recorded_clock_mhz
            verdict = Verdict.PASS if is_normal else Verdict.SLOW
            detail += (
                f" at {recorded_clock_mhz:,.0f} MHz; full power holds the clock at {gauges.clock_mhz:,.0f} "
                f"here: {'normal' if is_normal else 'slow all the same'}."
            )
        else:
            verdict = Verdict.SLOW
            detail += f": {why_slow(gauges, facts)}."
    return Line(
        name=name, group=Group.SPEED, verdict=verdict, detail=detail, figures=(*figures,), reference=reference
    )


def held_by(gauges: Gauges) -> str:
    """NVML's reasons for a low clock as a phrase; empty where nothing slows work."""
    mask, limit = gauges.reasons or 0, gauges.power_limit_w
    at = {_POWER_CAP: f" at {limit:g} W" if limit else ""}
    return " and ".join(phrase + at.get(bits, "") for bits, phrase in _REASONS if mask & bits)


def is_held_by_full_power(gauges: Gauges, facts: Facts) -> bool:
    """True if nothing but the power limit holds the clock, and that limit is the factory's."""
    limit, default = gauges.power_limit_w or facts.power_limit_w, facts.default_power_limit_w
    alone = [bits for bits, _ in _REASONS if (gauges.reasons or 0) & bits] == [_POWER_CAP]
    return alone and bool(limit and default and limit >= default)


def why_slow(gauges: Gauges, facts: Facts) -> str:
    reasons = [phrase] if (phrase := held_by(gauges)) else []
    limit, default = gauges.power_limit_w or facts.power_limit_w, facts.default_power_limit_w
    if limit and default and limit < default:
        reasons.append(f"the power limit is set to {limit:g} of {default:g} W")
    clock, top = gauges.clock_mhz, facts.max_clock_mhz
    if clock and top and clock < _LOW_CLOCK * top:
        reasons.append(f"the SM clock was {clock:,.0f} of {top:,.0f} MHz")
    if reasons:
        return "; ".join(reasons)
    if clock is None:
        return "the reason is unknown: clock and power could not be read"
    return f"the clock was high ({clock:,.0f} MHz), so look at what else uses this GPU"


def recorded_row(rows: Iterable[Row], gpu: str | None, job: GemmJob) -> Row | None:
    """The newest row of this GPU model and job; seed, runs and turns may differ."""
    free = {"seed": job.seed, "runs": job.runs, "turn_ms": job.turn_ms, "settle_ms": job.settle_ms}
    return newest([row for row in rows if row.ours is not None and replace(row.job, **free) == job], gpu)


def newest(records: Sequence[R], gpu: str | None) -> R | None:
    """The newest record of a GPU model, the last of a day."""
    same = [each for each in reversed(records) if each.machine.name == gpu]
    return max(same, key=lambda each: each.date, default=None)


def reference_of(record: Row | Ceilings | None, rate: float | None) -> Reference | None:
    if record is None or not rate:
        return None
    machine = record.machine
    return Reference(value=rate, gpu=machine.name, date=record.date, versions=dict(machine.versions))
