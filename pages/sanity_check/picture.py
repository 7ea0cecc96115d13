"""The picture of a check: a square a line, in rows by question. A square has its verdict's sign and color."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from html import escape

from kernels.check.job import CheckJob
from kernels.check.probe_machine import host
from kernels.check.report import Group, Report, Verdict
from kernels.check.run import WAITING
from kernels.check.steps import check_steps
from pages.kit.charts.ink import INKS, Ink
from pages.kit.look.presenter import projected
from pages.kit.shell import theme
from pages.kit.widgets import Place

Squares = Mapping[Group, Sequence[tuple[str, Verdict | None]]]
"""The lines of each question, each with its verdict; None for one that is to come."""

_SIGNS = {
    Verdict.PASS: "✓",
    Verdict.FAIL: "✗",
    Verdict.SLOW: "↓",
    Verdict.NOT_SUPPORTED: "∅",
    Verdict.NOT_RUN: "–",
    None: "",
}
_NAMED = (Verdict.FAIL, Verdict.SLOW, Verdict.NOT_SUPPORTED)
"""The lines with these verdicts have their names beside the question."""
_MOST_NAMED = 3
_STYLE = """<style>
.checks { display: flex; flex-direction: column; gap: calc(var(--side) * 0.75); }
.checks h2 { font-size: 15px; font-weight: 650; margin: 0 0 calc(var(--side) * 0.25); padding: 0;
    line-height: 20px; }
.checks h2 span { font-weight: 400; margin-left: 10px; }
.checks div { display: flex; flex-wrap: wrap; gap: calc(var(--side) * 0.15); }
.checks i { width: var(--side); height: var(--side); border-radius: 3px; overflow: hidden;
    font: 600 calc(var(--side) * 0.6)/calc(var(--side) - 3px) sans-serif; text-align: center;
    border: 1.5px solid; box-sizing: border-box; }
</style>"""


@lru_cache(maxsize=4)
def planned(*, quick: bool, has_gpu: bool) -> Squares:
    """The lines of a check that nobody has started."""
    steps = check_steps(CheckJob(quick=quick), replace(host(), interpreted=not has_gpu), "")
    return {
        group: [(name, None) for step in steps if step.group is group for name in step.names]
        for group in Group
    }


def of_report(report: Report) -> Squares:
    """The lines of a check, as far as it is."""
    return {
        group: [
            (line.name, None if line.detail == WAITING else line.verdict) for line in report.of_group(group)
        ]
        for group in Group
    }


def count(squares: Squares) -> int:
    """The lines of all questions."""
    return sum(map(len, squares.values()))


def draw_squares(squares: Squares, place: Place) -> None:
    """Draw the questions that have lines, with their squares: small ones where a projector enlarges them."""
    ink, size = INKS[theme()], "15px" if projected() else "26px"
    rows = "".join(_row(group, lines, ink) for group, lines in squares.items() if lines)
    place.html(f'{_STYLE}<div class="checks" style="color:{ink.text};--side:{size}">{rows}</div>')


def _row(group: Group, lines: Sequence[tuple[str, Verdict | None]], ink: Ink) -> str:
    named = [f"{name}: {verdict.value}" for name, verdict in lines if verdict in _NAMED and verdict]
    more = len(named) - _MOST_NAMED
    names = "; ".join(named[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    passed = sum(verdict is Verdict.PASS for _, verdict in lines)
    begun = any(verdict is not None for _, verdict in lines)
    figures = f"{passed} of {len(lines)}" if begun else f"{len(lines)}"
    squares = "".join(_square(name, verdict, ink) for name, verdict in lines)
    return (
        f'<section><h2>{escape(group.title)}<span style="color:{ink.soft}">{figures}</span>'
        f'<span style="color:{ink.lost}">{escape(names)}</span></h2><div>{squares}</div></section>'
    )


def _square(name: str, verdict: Verdict | None, ink: Ink) -> str:
    ground, border, sign = {
        Verdict.PASS: (ink.dot, ink.dot, ink.page),
        Verdict.FAIL: (ink.page, ink.lost, ink.lost),
        Verdict.SLOW: (ink.lost_area, ink.lost, ink.text),
        Verdict.NOT_SUPPORTED: (ink.panel, ink.line, ink.soft),
        Verdict.NOT_RUN: (ink.page, ink.line, ink.soft),
        None: (ink.page, ink.line, ink.soft),
    }[verdict]
    said = escape(f"{name}: {verdict.value if verdict else 'to come'}")
    return (
        f'<i role="img" title="{said}" aria-label="{said}" '
        f'style="background:{ground};border-color:{border};color:{sign}">{_SIGNS[verdict]}</i>'
    )
