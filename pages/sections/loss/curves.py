"""Section "Curves": the loss of every recipe relative to bf16, and the band of bf16's own seeds."""

from collections.abc import Sequence

import streamlit as st

from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.sections.loss import words
from pages.sections.loss.charts.curves import Band, Line, curves_chart
from pages.sections.loss.controls import COMPARED, LOSS, NEAR, REACH
from pages.sections.loss.gaps import FEWEST, band, ends_of_band, fell, finals, line, reach
from pages.sections.loss.runs import Group, Key, Run
from pages.sections.loss.state import group_here


def show(controls: Controls) -> None:
    """Draw the controls, what to notice, the curves and what is left at the end."""
    group = group_here(controls)
    row = st.container(horizontal=True, vertical_alignment="bottom")
    chosen = controls.draw(COMPARED, row.container(width=590)) or COMPARED.default
    loss = controls.draw(LOSS, row)
    near = controls.draw(REACH, row) == NEAR
    if group is None or len(group.bf16) < FEWEST:
        st.info(words.NOTHING if group is None else words.FEW)
        return
    keys: list[Key] = [(name, False, False) for name in chosen if name in group.recipes]
    ends = finals(group, keys)
    told = words.band_notice(ends, ends_of_band(group), len(group.bf16), fell(group, keys))
    draw_notice(f"**Notice:** {told}")
    draw_runs([run for key in keys for run in group.of(key)], group, loss, near=near, key="loss_curves")
    st.caption(f"{words.loss_rule(loss)} {words.where(group)}")
    if missing := [name for name in chosen if name not in group.recipes]:
        titles = ", ".join(COMPARED.options[name] for name in missing)
        st.caption(f"Not recorded for this model: {titles}. “Train one” trains it on a GPU.")
    st.markdown(words.table(ends))
    st.markdown(words.SAME_WEIGHTS)
    st.caption(words.SMALL)


def widest(around: Band) -> float:
    """How far bf16's seeds end from their mean."""
    return max(abs(around.low[-1]), abs(around.high[-1]))


def draw_runs(runs: Sequence[Run], group: Group, loss: str, *, near: bool = False, key: str) -> None:
    """Draw some runs over the band of their group."""
    around = band(group, loss)
    lines = [line(run, group, loss) for run in runs]
    spec = curves_chart(lines, around, reach(lines, around, near=near), INKS[theme()])
    draw_chart(spec, key=key, alt=described(lines, around))


def described(lines: Sequence[Line], around: Band) -> str:
    """The picture in words."""
    ends = "; ".join(
        f"{one.name}, seed {one.seed}: {words.percent(one.percent[-1])} at step {one.steps[-1]}"
        for one in lines
        if one.steps
    )
    return (
        f"Loss above the mean of bf16 over the steps. bf16's seeds end within ±{widest(around):.2f}%. {ends}"
    )
