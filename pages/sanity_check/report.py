"""One check: a square a line, the verdict, faults, speed against the record, downloads."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from html import escape

import streamlit as st

from kernels.check.machine import host
from kernels.check.render import fact_cells, markdown
from kernels.check.report import SHARE_OF_COPY, Ability, CheckJob, Group, Line, Report, Verdict, document
from kernels.check.run import WAITING
from kernels.check.steps import check_steps
from pages.kit.charts.bars import Part, grouped
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled
from pages.kit.inert import plain
from pages.kit.look.presenter import projected
from pages.kit.tables import markdown_table
from pages.kit.view import draw_chart, here, page_ink
from pages.kit.widgets import Place
from pages.sanity_check.history import Past

# The lines of each question, each with its verdict; None for one that is to come.
Squares = Mapping[Group, Sequence[tuple[str, Verdict | None]]]

# Signs, and the colors of badges.
_SIGNS = {
    Verdict.PASS: ("✓", "green"),
    Verdict.FAIL: ("✗", "red"),
    Verdict.SLOW: ("↓", "orange"),
    Verdict.NOT_SUPPORTED: ("∅", "violet"),
    Verdict.NOT_RUN: ("–", "gray"),
    None: ("", ""),
}
# The lines with these verdicts have their names beside the question.
_WITH_NAMES = (Verdict.FAIL, Verdict.SLOW, Verdict.NOT_SUPPORTED)
_MOST_NAMES = 3
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
    steps = check_steps(CheckJob(quick=quick), replace(host(), interpreted=not has_gpu), "")
    return {
        group: [(name, None) for step in steps if step.group is group for name in step.names]
        for group in Group
    }


def of_report(report: Report) -> Squares:
    return {
        group: [
            (line.name, None if line.detail == WAITING else line.verdict) for line in report.of_group(group)
        ]
        for group in Group
    }


def count(squares: Squares) -> int:
    return sum(map(len, squares.values()))


def draw_squares(squares: Squares, place: Place) -> None:
    """Draw the questions with their squares: small ones, where a projector enlarges them."""
    ink, size = page_ink(), "15px" if projected() else "26px"
    rows = "".join(_row(group, lines, ink) for group, lines in squares.items() if lines)
    place.html(f'{_STYLE}<div class="checks" style="color:{ink.text};--side:{size}">{rows}</div>')


def _row(group: Group, lines: Sequence[tuple[str, Verdict | None]], ink: Ink) -> str:
    names = [f"{name}: {verdict.value}" for name, verdict in lines if verdict in _WITH_NAMES and verdict]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    passes = sum(verdict is Verdict.PASS for _, verdict in lines)
    has_begun = any(verdict is not None for _, verdict in lines)
    figures = f"{passes} of {len(lines)}" if has_begun else f"{len(lines)}"
    squares = "".join(_square(name, verdict, ink) for name, verdict in lines)
    return (
        f'<section><h2>{escape(group.title)}<span style="color:{ink.soft}">{figures}</span>'
        f'<span style="color:{ink.lost}">{escape("; ".join(names[:_MOST_NAMES]) + more)}</span></h2>'
        f"<div>{squares}</div></section>"
    )


def _square(name: str, verdict: Verdict | None, ink: Ink) -> str:
    ground, border, sign = {
        Verdict.PASS: (ink.dot, ink.dot, ink.page),
        Verdict.FAIL: (ink.page, ink.lost, ink.lost),
        Verdict.SLOW: (ink.lost_area, ink.lost, ink.text),
        Verdict.NOT_SUPPORTED: (ink.panel, ink.line, ink.soft),
    }.get(verdict, (ink.page, ink.line, ink.soft))
    label = escape(f"{name}: {verdict.value if verdict else 'to come'}")
    return (
        f'<i role="img" title="{label}" aria-label="{label}" '
        f'style="background:{ground};border-color:{border};color:{sign}">{_SIGNS[verdict][0]}</i>'
    )


_MOST_FAULTS = 6


def draw_report(past: Past) -> None:
    report, know = past.report, here().know
    for sentence in troubles(report):
        st.markdown(sentence)
    _draw_speed(report)
    know.caption(origin(past))
    know.markdown("What was compared, line by line:")
    know.markdown(details(report))
    if report.facts.gpu is not None:
        know.markdown("What this GPU can do:")
        know.markdown("\n".join(map(_ability, report.abilities)))
    facts = ((plain(what), plain(value)) for what, value in fact_cells(report.facts))
    know.markdown(markdown_table(("fact", "value"), facts, "<"))
    with know:
        _draw_take_home(report)


def _draw_speed(report: Report) -> None:
    lines = [line for line in report.of_group(Group.SPEED) if line.figures]
    recorded = [line for line in lines if line.share is not None]
    if not recorded:
        if lines:
            gpu = plain(str(report.facts.gpu))
            here().know.markdown(f"Nothing is recorded for the {gpu}, so there is no rate to compare with.")
        return
    st.header("As fast as the recorded run of this GPU model?")
    draw_chart(
        speed_chart(recorded, page_ink()),
        key="sanity_shares",
        is_fitted=True,
        place=st,
        alt="Bars of speed. " + "; ".join(f"{line.name}: {_rate(line)}" for line in recorded),
    )
    sources = {
        ", ".join([of.gpu, of.date, *(f"{name} {version}" for name, version in of.versions.items())])
        for of in (line.reference for line in recorded)
    }
    without = [line.name for line in lines if _lacks_a_record(line)]
    remark = f" Nothing is recorded for: {', '.join(without)}." if without else ""
    here().know.caption(plain(f"The record: {'; '.join(sorted(sources))}.{remark}"))


def speed_chart(lines: Sequence[Line], ink: Ink) -> Filled:
    """A bar a line: its share of the recorded rate. Slow ones stand out."""
    parts = [
        Part(
            group=line.name,
            series="rate",
            share=line.share,
            color=ink.lost if line.verdict is Verdict.SLOW else ink.dot,
            words=_rate(line),
        )
        for line in lines
    ]
    return grouped(parts, "share of the recorded rate", 28 * len(parts) + 80, ink)


def _rate(line: Line) -> str:
    """A rate against the record, such as ``61% of 1,302 TFLOP/s, slow``."""
    slow = f", {Verdict.SLOW.value}" if line.verdict is Verdict.SLOW else ""
    return f"{line.share:.0%} of {line.reference.value:,.0f} {line.figures[0].unit}{slow}"


def _lacks_a_record(line: Line) -> bool:
    """True for a rate without a record; a quantizer's is compared with a copy."""
    beside_a_copy = any(figure.name == SHARE_OF_COPY for figure in line.figures)
    return bool(line.figures) and line.share is None and not beside_a_copy


def _draw_take_home(report: Report) -> None:
    st.markdown("Copy into an issue, or download:")
    st.download_button(
        "JSON",
        lambda: document([report]),
        "fp8_check.json",
        "application/json",
        icon=":material/download:",
        on_click="ignore",
    )
    st.code(markdown(report), language="markdown", height=260)


def badge(verdict: Verdict) -> str:
    sign, color = _SIGNS[verdict]
    return f":{color}-badge[{sign} {verdict.value}]"


def details(report: Report) -> str:
    lines = (line for group in Group for line in report.of_group(group))
    rows = ((badge(line.verdict), plain(line.name), plain(line.detail)) for line in lines)
    return markdown_table(("verdict", "line", "detail"), rows, "<")


def troubles(report: Report) -> list[str]:
    """The failures, a sentence each; lines with one failure share it. Then the slowest of the slow lines.

    One is enough: the reason that slows one line slows most of them.
    """
    faults: dict[str, list[str]] = {}
    for line in report.lines:
        if line.verdict is Verdict.FAIL:
            faults.setdefault(line.detail, []).append(plain(line.name))
    mark = badge(Verdict.FAIL)
    sentences = [f"{mark} **{', '.join(names)}**: {plain(detail)}" for detail, names in faults.items()]
    if (more := len(sentences) - _MOST_FAULTS) > 0:
        sentences[_MOST_FAULTS:] = [f"{mark} … and {more} more, see line by line below."]
    slow = [line for line in report.lines if line.verdict is Verdict.SLOW]
    if slow:
        worst = min(slow, key=lambda line: line.share or 0.0)
        which = f", the slowest of {len(slow)}" if len(slow) > 1 else ""
        sentences.append(f"{badge(Verdict.SLOW)} **{plain(worst.name)}**{which}: {plain(worst.detail)}")
    return sentences


def before(lines: int, has_gpu: bool) -> str:
    where = "Press Run." if has_gpu else "No GPU here: the interpreter checks them on the CPU, without speed."
    return f"A check makes **{lines} comparisons** with the reference. {where}"


def verdict(past: Past) -> str:
    """The verdict, and the reason where there is no FP8 or the check ended early."""
    report = past.report
    why = past.end
    if report.exit_code not in (0, 1) and not why:
        unsupported = [line for line in report.of_group(Group.SETUP) if line.verdict is Verdict.NOT_SUPPORTED]
        why = unsupported[0].detail if unsupported else ""
    head, _, counts = report.summary.partition(":")
    first, *others = counts.strip().rstrip(".").split(", ")
    return f"{head}: {', '.join([f'**{first}**', *others])}. {plain(why)}".strip()


def origin(past: Past) -> str:
    report = past.report
    facts = report.facts
    on = facts.gpu or ("Triton's interpreter, on the CPU" if facts.interpreted else "no GPU")
    how = "quick check" if report.job.quick else "full check"
    versions = ", ".join(f"{name} {version}" for name, version in facts.versions.items())
    return plain(f"{on} · {how} of {report.seconds:.0f} s · {moment(report)} · {versions}")


def moment(report: Report) -> str:
    return f"{datetime.fromisoformat(report.started):%Y-%m-%d %H:%M} UTC"


def _ability(ability: Ability) -> str:
    mark = ":green-badge[✓ yes]" if ability.available else ":violet-badge[∅ no]"
    return f"- {mark} **{plain(ability.title)}**: {plain(ability.reason)}"


def no_gpu() -> str:
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        return "CUDA_VISIBLE_DEVICES leaves this server no GPU"
    return "nvidia-smi lists no GPU on this server"
