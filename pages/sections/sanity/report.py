"""One report in full: verdict, checklist, faults, speed against the record, downloads."""

import streamlit as st

from kernels.check.names import SHARE_OF_COPY
from kernels.check.render import markdown
from kernels.check.report import Group, Line, Report, Verdict
from kernels.check.schema import document
from kernels.check.verdicts import NORMAL_SHARE
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.inert import plain
from pages.kit.shell import theme
from pages.sections.sanity import words
from pages.sections.sanity.charts.shares import Bar, shares_chart
from pages.sections.sanity.history import Past


def draw_verdict(past: Past) -> None:
    """The sentence on top, in a box whose color and sign say it too."""
    report = past.report
    text = words.verdict(past)
    if report.exit_code == 0 and not report.count(Verdict.SLOW):
        st.success(text, icon=":material/check_circle:")
    elif report.exit_code == 0:
        st.warning(text, icon=":material/speed:")
    elif report.exit_code == 1:
        st.error(text, icon=":material/error:")
    else:
        st.info(text, icon=":material/block:" if report.finished else ":material/stop_circle:")
    st.caption(words.origin(past))


def draw_checklist(report: Report) -> None:
    """The questions and their lines; also while the check runs."""
    st.markdown(words.checklist(report))


def draw_report(past: Past) -> None:
    """Everything below the verdict."""
    report = past.report
    draw_checklist(report)
    for sentence in words.troubles(report):
        st.markdown(sentence)
    with st.expander("What was compared, line by line"):
        st.markdown(words.details(report))
    _draw_speed(report)
    if report.facts.gpu is not None:
        st.header("What can this GPU do?")
        st.markdown("\n".join(f"- {words.ability(ability)}" for ability in report.abilities))
    with st.expander("The machine"):
        st.markdown(words.machine(report))
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
    st.header("Is it as fast as the recorded run of this GPU model?")
    drawn = bars(report)
    if not drawn:
        gpu = plain(str(report.facts.gpu))
        st.markdown(f"Nothing is recorded for the {gpu}, so there is no rate to compare with.")
        return
    alt_text = "; ".join(f"{bar.name}: {bar.share:.0%} of {bar.recorded}" for bar in drawn)
    draw_chart(
        shares_chart(drawn, NORMAL_SHARE, INKS[theme()]),
        key="sanity_shares",
        alt=f"Bars of speed. {alt_text}",
    )
    without = [line.name for line in report.of_group(Group.SPEED) if _lacks_a_record(line)]
    told = f" Nothing is recorded for: {', '.join(without)}." if without else ""
    st.caption(plain(f"The record: {'; '.join(sorted({bar.source for bar in drawn}))}.{told}"))


def _lacks_a_record(line: Line) -> bool:
    """True for a rate that has nothing to be compared with; a quantizer's is compared with a copy."""
    beside_a_copy = any(figure.name == SHARE_OF_COPY for figure in line.figures)
    return bool(line.figures) and line.share is None and not beside_a_copy


def _draw_take_home(report: Report) -> None:
    with st.expander("Copy into an issue, or download"):
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
