"""Section "Timelines": every kernel of a step, in bf16 and in fp8 made several ways, drawn to scale."""

from collections.abc import Sequence
from functools import lru_cache

import streamlit as st

from fp8core.recipes import RECIPES
from kernels.layer.timeline.job import TimelineJob
from kernels.layer.timeline.row import Timeline
from pages.fused import live, losses, rows
from pages.fused.charts.facts import legend
from pages.fused.charts.lanes import lanes_chart
from pages.fused.charts.switch import WAY as SWITCH
from pages.fused.charts.switch import switch_chart
from pages.fused.controls import BLOCK, TOKENS, WAY, WAY_NAMES, job_of
from pages.fused.rows import Shown
from pages.fused.told import (
    ROLES,
    kernel_table,
    lanes,
    left_out_sentence,
    lines,
    note_sentence,
    notice,
    origin_sentence,
    paints,
)
from pages.kit.chart import draw_chart, room
from pages.kit.chart_slider import chart_with_slider, with_slider
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.charts.words import count
from pages.kit.controls import Controls, link_params
from pages.kit.gemm.results import draw_left_out
from pages.kit.notice import draw_notice
from pages.kit.recipes import draw_recipe, recipe_params, recipe_values
from pages.kit.shared_controls import RECIPE
from pages.kit.shell import theme
from pages.kit.tables import arrow_table, draw_rows
from pages.kit.terms.explain import draw_text
from pages.kit.view import here, stage
from pages.kit.widgets import Place

IDEA = (
    "The tensor cores multiply fp8 twice as fast as bf16. But the operands must be **quantized** first, and "
    "that is work for memory. Done naively, it can cost more than the matmul gains. **Fused** into few "
    "passes, or into the step that makes a tensor, it costs little. Each bar is one kernel of a forward and "
    "backward pass, measured; all share one axis of time."
)
READING = (
    "At the right: the speed over bf16, the time of the whole step, and the share of kernels that only "
    "quantize. The upright mark is where the backward pass begins. Point at a bar for its bytes and rate. "
    "Hold Shift and turn the wheel to look closer, drag to move, click twice to go back."
)
_LEGEND = 34
"""Pixels of the legend below the lanes."""
_SHOWN_OTHERS, _SPECS_KEPT = 5, 24
_US = st.column_config.NumberColumn
_COLUMNS = {
    "step, µs": _US(format="%.0f", help="Wall time of a step, median; in a CUDA graph where there is one"),
    "× bf16": _US(format="%.2f", help="Speed over the bf16 step of the same run"),
    "eager, µs": _US(format="%.0f", help="Wall time of a step that Python launches kernel by kernel"),
    "matmuls, µs": _US(format="%.0f"),
    "quantizing, µs": _US(format="%.0f", help="Kernels that only quantize, where no other one ran"),
    "gaps, µs": _US(format="%.0f", help="Time between kernels in which none ran"),
    "GB moved": _US(format="%.2f", help="Read once and written once, as counted from the operands"),
    "MiB held": _US(format="%.0f", help="Held from forward to backward, measured"),
}


def show(controls: Controls, source: str) -> None:
    """Draw the timelines of a step, the switch, and the fields that measure one here."""
    view = here()
    draw_text(IDEA, view.know)
    draw_left_out(rows.bad_lines())
    draw_recipe(controls, view.control)
    block, tokens = controls.draw(BLOCK), controls.draw(TOKENS)
    chosen = recipe_values(controls)
    name = RECIPE.default if chosen["own"] else chosen["recipe"]
    if chosen["own"]:
        st.caption(f"A timeline is of a published recipe, so {RECIPES[name].title} is shown, not your own.")
    job = job_of(name, block, tokens)
    found = rows.timelines(source, job)
    if found:
        draw_notice(notice(found))
        _draw_lanes(found, stage().container(key="fused_timeline", gap=None), key="fused_lanes")
        view.know.markdown(READING)
        if len(found) > 1:
            _draw_switch(controls, found)
        losses.draw(found)
        with view.know:
            _draw_figures(found)
    else:
        with stage():
            _draw_nothing(controls, source, job)
    if lacking := rows.left_out(source, job):
        st.caption(left_out_sentence(lacking))
    live.draw_run(controls, job, draw_partial)


def draw_partial(timeline: Timeline) -> None:
    """Draw the ways of a running job that are timed so far."""
    if timeline.rows:
        _draw_lanes(rows.so_far(timeline), st, key="fused_lanes_so_far")


def _draw_lanes(found: Sequence[Shown], place: Place, key: str) -> None:
    drawn = lanes(found)
    draw_chart(
        _lanes_spec(tuple(found), room() - _LEGEND, theme()),
        key=key,
        place=place,
        alt="Timelines of one step. "
        + "; ".join(f"{lane.name}: {lane.speed}, {lane.time}" for lane in drawn),
        is_rigid=True,
    )
    place.html(legend(paints(found), INKS[theme()]))


@lru_cache(maxsize=_SPECS_KEPT)
def _lanes_spec(found: tuple[Shown, ...], room: int, theme: str) -> Filled:
    every = tuple(ROLES.values())  # whatever roles these rows have, it is one kind of chart
    return lanes_chart(lanes(found), every, room, INKS[theme])


@lru_cache(maxsize=_SPECS_KEPT)
def _switch_spec(found: tuple[Shown, ...], theme: str) -> Filled:
    keys = tuple(one.row.way.value for one in found)
    return switch_chart(lanes(found), keys, paints(found), INKS[theme])


def _draw_switch(controls: Controls, found: Sequence[Shown]) -> None:
    """One way at a time, a line a role, over the outlines of the way before."""
    drawn = lanes(found)
    names = {one.row.way.value: WAY_NAMES[one.row.way.value] for one in found}
    st.header("Which bars vanish?")
    here().know.markdown(
        "**Which bars vanish?** Pale bars are those of the way before: what has no bar on it has vanished. "
        "The dashed line is the end of the way before. The axis ends where the longer of the two needs it."
    )
    way = controls.within(WAY, options=names)
    by_name = {lane.name: lane for lane in drawn}

    def told(value: str) -> str:
        lane = by_name[names[value]]
        sums = "; ".join(
            f"{role} {count(len(lane.of_role(role)), 'kernel')}, {lane.role_us(role):,.0f} µs"
            for role, _ in paints(found)
        )
        return f"Kernels of {lane.name} by their role: {sums}"

    spec = _switch_spec(tuple(found), theme())
    chart_with_slider(
        controls,
        WAY,
        name="fused_switch",
        drawn=(theme(), *((id(one.row)) for one in found)),
        at=way,
        spec_at=lambda start: with_slider(spec, SWITCH, start),
        alt_at=told,
    )


def _draw_figures(found: Sequence[Shown]) -> None:
    draw_rows(arrow_table(lines(found)), column_config=_COLUMNS)
    st.caption(origin_sentence(found))
    for one in found:
        if one.row.note:
            st.caption(note_sentence(one.row))
    for one in found:
        st.markdown(f"Every kernel of **{one.row.way.title}**")
        draw_rows(kernel_table(one))


def _draw_nothing(controls: Controls, source: str, job: TimelineJob) -> None:
    """Say that this step has no timeline. Links open those that are recorded."""
    near = rows.others(source, job)
    where = "measured here in this session" if source == rows.HERE else "recorded on this GPU"
    nothing = f"No timeline of **{job.title}** is {where}."
    if not near:
        st.info(
            f"{nothing} On a GPU, `python -m kernels.layer --record` records timelines, and the button below "
            "measures one. The section *One pass or two* needs neither."
        )
        return
    st.info(f"{nothing} Each link opens one that is:")
    for one in near[:_SHOWN_OTHERS]:
        st.page_link(
            "pages/fused.py",
            label=one.title,
            icon=":material/history:",
            query_params=link_params(
                **recipe_params(one.recipe),
                **{BLOCK.key: one.block.value, TOKENS.key: str(one.tokens), "fused_gpu": source},
            ),
        )
