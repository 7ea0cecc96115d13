"""Verdicts on speed: compared with the recorded speed of this GPU model, with a reason where it is low."""

from collections.abc import Iterable
from dataclasses import replace

from kernels.bench.ceilings import Ceilings
from kernels.bench.job import GemmJob
from kernels.bench.row import Row
from kernels.check.facts import Facts
from kernels.check.reading import Held, Reading, held_by
from kernels.check.report import Figure, Group, Line, Reference, Verdict

NORMAL_SHARE = 0.85
"""Below this fraction of the recorded rate a line is slow: good cards of one model differ by less."""

_LOW_CLOCK = 0.9


def speed_line(
    name: str,
    rate: float,
    unit: str,
    *,
    facts: Facts,
    reading: Reading,
    bf16: float | None = None,
    reference: Reference | None = None,
    recorded_clock_mhz: float | None = None,
    fault: str = "",
) -> Line:
    """One line of speed: `rate` in `unit`, its ratio to bf16, and its share of the recorded rate.

    - bf16: the rate of bf16 torch.mm that took turns with it.
    - recorded_clock_mhz: the SM clock of the recorded rate. Under full power it tells a warmer card from a
      slow one.
    - fault: a phrase on why the GPU cannot be that fast; the line then has no figures. Empty where it can.
    """
    figures = [Figure("rate", rate, unit)]
    told = f"{rate:,.0f} {unit}"
    if bf16 is not None:
        figures.append(Figure("× bf16", rate / bf16))
        told += f", {rate / bf16:.2f} times the bf16 of the same turns ({bf16:,.0f} {unit})"
    for label, value, in_unit in (("SM clock", reading.clock_mhz, "MHz"), ("power", reading.power_w, "W")):
        if value is not None:
            figures.append(Figure(label, value, in_unit))
    verdict = Verdict.PASS
    if fault:
        verdict = Verdict.FAIL
        figures, reference, told = [], None, f"Wrong: {fault}."
    elif reference is None:
        told += f"; no speed of the {facts.gpu} is recorded to compare with."
    elif rate >= NORMAL_SHARE * reference.value:
        told += f"; {_share(rate, reference)}: normal."
    elif recorded_clock_mhz and is_held_by_full_power(reading, facts) and reading.clock_mhz:
        here, then = rate / reading.clock_mhz, reference.value / recorded_clock_mhz
        verdict = Verdict.PASS if here >= NORMAL_SHARE * then else Verdict.SLOW
        told += (
            f"; {_share(rate, reference)} at {recorded_clock_mhz:,.0f} MHz; full power holds the clock at "
            f"{reading.clock_mhz:,.0f} here: {'normal' if verdict is Verdict.PASS else 'slow all the same'}."
        )
    else:
        verdict = Verdict.SLOW
        told += f"; {_share(rate, reference)}: {why_slow(reading, facts)}."
    return Line(
        name=name,
        group=Group.SPEED,
        verdict=verdict,
        detail=told,
        figures=tuple(figures),
        reference=reference,
    )


def _share(rate: float, reference: Reference) -> str:
    return f"{rate / reference.value:.0%} of the {reference.gpu} recorded on {reference.date}"


def is_held_by_full_power(reading: Reading, facts: Facts) -> bool:
    """True if the clock is held by nothing but the power limit, and that limit is the factory's."""
    limit, default = reading.power_limit_w or facts.power_limit_w, facts.default_power_limit_w
    alone = reading.held_by == held_by(Held.SW_POWER_CAP, reading.power_limit_w)
    return alone and bool(limit and default and limit >= default)


def why_slow(reading: Reading, facts: Facts) -> str:
    """A phrase on why a GPU is slow, from the clock and power read during the run."""
    reasons = [reading.held_by] if reading.held_by else []
    limit, default = reading.power_limit_w or facts.power_limit_w, facts.default_power_limit_w
    if limit and default and limit < default:
        reasons.append(f"the power limit is set to {limit:g} of {default:g} W")
    clock, top = reading.clock_mhz, facts.max_clock_mhz
    if clock and top and clock < _LOW_CLOCK * top:
        reasons.append(f"the SM clock was {clock:,.0f} of {top:,.0f} MHz")
    if reasons:
        return "; ".join(reasons)
    if clock is None:
        return "the reason is unknown: clock and power could not be read"
    return f"the clock was high ({clock:,.0f} MHz), so look at what else uses this GPU"


def recorded(rows: Iterable[Row], gpu: str | None, job: GemmJob) -> Row | None:
    """The newest recorded row of this GPU model and job, the last of a day.

    Seed, runs and turns may differ.
    """
    same = [
        row
        for row in rows
        if row.machine.name == gpu
        and row.gemm is not None
        and replace(row.job, seed=job.seed, runs=job.runs, turn_ms=job.turn_ms, settle_ms=job.settle_ms)
        == job
    ]
    return max(reversed(same), key=lambda row: row.date, default=None)


def copy_reference(ceilings: Iterable[Ceilings], gpu: str | None) -> Reference | None:
    """The newest recorded copy speed of this GPU model, in GB/s."""
    same = [found for found in ceilings if found.machine.name == gpu]
    newest = max(same, key=lambda found: found.date, default=None)
    if newest is None:
        return None
    return Reference(
        value=newest.copy_gb_s.median,
        gpu=newest.machine.name,
        date=newest.date,
        versions=dict(newest.machine.versions),
    )


def reference_of(row: Row | None, time_us: float | None) -> Reference | None:
    """The TFLOP/s of one of the times in a recorded row."""
    if row is None or not time_us:
        return None
    return Reference(
        value=row.job.flop / time_us / 1e6,
        gpu=row.machine.name,
        date=row.date,
        versions=dict(row.machine.versions),
    )
