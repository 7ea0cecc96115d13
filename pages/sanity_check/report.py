"""One report in full: faults, speed against the record, checklist, downloads."""

import streamlit as st

from kernels.check.names import SHARE_OF_COPY
from kernels.check.render import markdown
from kernels.check.report import Group, Line, Report
from kernels.check.schema import document
from kernels.check.verdicts import NORMAL_SHARE
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.inert import plain
from pages.kit.look.presenter import projected
from pages.kit.shell import theme
from pages.kit.view import here
from pages.sanity_check import words
from pages.sanity_check.charts.shares import Bar, shares_chart
from pages.sanity_check.history import Past
from pages.sanity_check.picture import of_report, picture


def draw_partial(report: Report) -> None:
    """The squares of a check that runs."""
    st.html(picture(of_report(report), INKS[theme()], is_small=projected()))


def draw_report(past: Past) -> None:
    """Draw the faults and the speed below the picture, and the lines under How we know."""
    report, know = past.report, here().know
    for sentence in words.troubles(report):
        st.markdown(sentence)
    _draw_speed(report)
    know.caption(words.origin(past))
    know.markdown(words.checklist(report))
    know.markdown("What was compared, line by line:")
    know.markdown(words.details(report))
    if report.facts.gpu is not None:
        know.markdown("What this GPU can do:")
        know.markdown("\n".join(f"- {words.ability(ability)}" for ability in report.abilities))
    know.markdown(words.machine(report))
    with know:
        _draw_take_home(report)


def bars(report: Report) -> tuple[Bar, ...]:
    """The lines of speed that have a record."""
    return tuple(
        Bar(
            name=line.name,
            share=line.share,
            rate=f"{line.figures[0].value:,.0f} {line.figures[0].unit}",
            recorded=f"{line.reference.value:,.0f} {line.figures[0].unit}",
            source=", ".join(
                [line.reference.gpu, line.reference.date]
                + [f"{name} {version}" for name, version in line.reference.versions.items()]
            ),
        )
        for line in report.of_group(Group.SPEED)
        if line.share is not None and line.reference is not None
    )


def _draw_speed(report: Report) -> None:
    if not any(line.figures for line in report.of_group(Group.SPEED)):
        return
    drawn = bars(report)
    if not drawn:
        gpu = plain(str(report.facts.gpu))
        here().know.markdown(f"Nothing is recorded for the {gpu}, so there is no rate to compare with.")
        return
    st.header("As fast as the recorded run of this GPU model?")
    alt_text = "; ".join(f"{bar.name}: {bar.share:.0%} of {bar.recorded}" for bar in drawn)
    draw_chart(
        shares_chart(drawn, NORMAL_SHARE, INKS[theme()]),
        key="sanity_shares",
        place=st,
        alt=f"Bars of speed. {alt_text}",
    )
    without = [line.name for line in report.of_group(Group.SPEED) if _lacks_a_record(line)]
    told = f" Nothing is recorded for: {', '.join(without)}." if without else ""
    here().know.caption(plain(f"The record: {'; '.join(sorted({bar.source for bar in drawn}))}.{told}"))


def _lacks_a_record(line: Line) -> bool:
    """True for a rate that has nothing to be compared with; a quantizer's is compared with a copy."""
    beside_a_copy = any(figure.name == SHARE_OF_COPY for figure in line.figures)
    return bool(line.figures) and line.share is None and not beside_a_copy


def _draw_take_home(report: Report) -> None:
    st.markdown("Copy into an issue, or download:")
    with st.container(horizontal=True):
        st.download_button(
            "JSON",
            lambda: document([report]),
            "fp8_check.json",
            "application/json",
            icon=":material/download:",
            on_click="ignore",
        )
        st.download_button(
            "Markdown",
            lambda: markdown(report),
            "fp8_check.md",
            "text/markdown",
            icon=":material/download:",
            on_click="ignore",
        )
    st.code(markdown(report), language="markdown", height=260)
