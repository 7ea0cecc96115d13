"""Reports that no GPU gave: every line of a check, with the rates that a test asks for."""

from collections.abc import Collection
from dataclasses import replace

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.check.machine import abilities, setup_lines
from kernels.check.report import CheckJob, Facts, Group, Line, Reference, Report, Verdict
from kernels.check.run import WAITING
from kernels.check.speed import speed_line
from kernels.check.steps import check_steps
from kernels.nvml import Gauges
from tests.kernels.check.reports import H200

REFERENCE = Reference(value=1000.0, gpu=H200.gpu, date="2026-11-20", versions={})
HOT = Gauges(clock_mhz=1100.0, power_w=450.0, power_limit_w=450.0, reasons=0x4)


def report(
    facts: Facts = H200,
    *,
    quick: bool = False,
    failed: Collection[str] = (),
    share: float = 0.97,
) -> Report:
    """A whole check of these facts: the lines of names in `failed` fail, every recipe's rate is `share` of a
    recorded one.
    """
    job = CheckJob(quick=quick)
    lines = list(setup_lines(facts))
    if facts.gpu is not None or facts.interpreted:
        for step in check_steps(job, facts, ""):
            lines += [_line(facts, step.group, name, failed, share) for name in step.names]
    return Report(
        job=job,
        facts=facts,
        abilities=abilities(facts),
        lines=tuple(lines),
        started="2026-11-20T11:30:00+00:00",
        seconds=41.5,
        finished=True,
    )


def _line(facts: Facts, group: Group, name: str, failed: Collection[str], share: float) -> Line:
    if name in failed and group is Group.GEMMS:
        detail = "3 of 7,168 outputs are further off than their bound: D[0, 5] is 1.5, not 1.25 ± 0.002."
        return Line(name=name, group=group, verdict=Verdict.FAIL, detail=detail)
    if group is not Group.SPEED:
        return Line(
            name=name, group=group, verdict=Verdict.PASS, detail="6,724 outputs are as they should be."
        )
    recipe, _, matmul = name.partition(" ")
    is_recorded = facts.gpu == H200.gpu and recipe in RECIPES and matmul in MATMULS
    reference = REFERENCE if is_recorded else None
    rate = share * REFERENCE.value
    unit = "TFLOP/s" if reference else "GB/s"
    gauges = HOT if share < 0.9 else Gauges(clock_mhz=1755.0, power_w=640.0)
    return speed_line(name, rate, unit, facts=facts, gauges=gauges, bf16=rate / 1.6, reference=reference)


def so_far(whole: Report, reached: int) -> Report:
    """The same check while it runs, its first lines reached."""
    lines = tuple(
        line if number < reached else replace(line, verdict=Verdict.NOT_RUN, detail=WAITING, figures=())
        for number, line in enumerate(whole.lines)
    )
    return replace(whole, lines=lines, seconds=12.0, finished=False)
