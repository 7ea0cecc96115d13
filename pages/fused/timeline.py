"""Section "Timelines": every kernel of a step, in bf16 and in fp8 in several ways, to scale."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import streamlit as st

from fp8core.recipes import RECIPES
from kernels.layer.plan import refusal
from kernels.layer.timeline.row import CLOCK, Block, KernelRun, LayerRow, Role, Timeline, TimelineJob, Way
from kernels.measure.records import slug
from pages.fused import rows
from pages.fused.charts.kernels import ROLES, Lane, lanes_chart, legend, switch_chart
from pages.fused.charts.kernels import WAY as SWITCH
from pages.fused.rows import HERE, TOKENS, layer_of
from pages.kit.chart_slider import chart_with_slider, with_slider
from pages.kit.charts.bars import Bar, bars
from pages.kit.charts.words import bytes_text, count, duration
from pages.kit.controls import Controls, link_params
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.gemm.results import draw_left_out
from pages.kit.inert import plain
from pages.kit.origins import origins_words, recorded_on, row_origin
from pages.kit.shared_controls import RECIPE, draw_recipe, recipe_params, recipe_values
from pages.kit.tables import draw_rows
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room, stage
from pages.kit.widgets import Choice, Place

BLOCK = Choice(
    key="fused_block",
    label="Layers",
    options={Block.LINEAR.value: "Linear layer", Block.MLP.value: "SwiGLU MLP"},
    default=Block.MLP.value,
    help="**SwiGLU MLP**: gate, up and down matmuls with SwiGLU between them, as in a Llama block.",
)
# The name of each way and its note, in the order of the picture.
WAYS = {
    Way.BF16: ("bf16", "no quantizing"),
    Way.NAIVE: ("naive", "torch, op by op"),
    Way.COMPILED: ("compiled", "torch.compile"),
    Way.OURS: ("fused", "quantized on the way out"),
    Way.OURS_KEPT: ("fused, w kept", "w is quantized once"),
    Way.BOUND: ("free casts", "if quantizing took no time"),
}
WAY_NAMES = {way.value: name for way, (name, _) in WAYS.items()}
WAY = Choice(key="fused_way", label="Way", options=WAY_NAMES, default=Way.OURS.value)

IDEA = (
    "The tensor cores multiply fp8 twice as fast as bf16. But the operands must be **quantized** first, and "
    "that is work for memory. Done naively, it can cost more than the matmul gains. **Fused** into few "
    "passes, or into the step that makes a tensor, it costs little. Each bar is one kernel of a forward and "
    "backward pass, measured; all share one axis of time."
)
READING = (
    "At the right: the speed over bf16, the time of the whole step, and the share of kernels that only "
    "quantize. Time and speed are of whole steps without a profiler, in turns with bf16. A profile, which "
    "differs by a few percent, gives each kernel's share, and its bars are drawn as long as the step took. "
    "Point at a bar for its bytes, its rate and its time in the profile. "
    "Hold Shift and turn the wheel to look closer, drag to move, click twice to go back."
)
SWITCH_READING = (
    "**Which bars vanish?** Pale bars are those of the way before: what has no bar on it has vanished. "
    "The dashed line is the end of the way before. The axis ends where the longer of the two needs it."
)
NAMES = dict(zip(Role, ROLES, strict=True))
_LEGEND = 34  # pixels of the legend below the lanes
_OTHERS = 5
_EARLY_US = 1.0  # an overlap with the kernel before that has a note
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


def job_of(recipe: str, block: str, tokens: str) -> TimelineJob:
    layer = layer_of(tokens)
    return TimelineJob(block=Block(block), recipe=recipe, tokens=layer.tokens, in_=layer.in_, out=layer.out)


def show(controls: Controls, source: str) -> None:
    view = here()
    view.know.markdown(IDEA)
    draw_left_out(rows.recorded().bad)
    draw_recipe(controls, view.control)
    block, tokens = controls.draw(BLOCK, view.control), controls.draw(TOKENS)
    names = recipe_values(controls)
    name = RECIPE.default if names["own"] else names["recipe"]
    if names["own"]:
        st.caption(f"A timeline is of a published recipe, so {RECIPES[name].title} is shown, not your own.")
    if (reason := refusal(RECIPES[name])) is not None:
        stage().info(f"No layer in {RECIPES[name].title}: {reason}.")
        return
    job = job_of(name, block, tokens)
    ways = rows.timelines(source, job)
    if ways:
        draw_notice(notice(ways))
        _draw_lanes(ways, stage().container(key="fused_timeline", gap=None), key="fused_lanes")
        view.know.markdown(READING)
        if len(ways) > 1:
            _draw_switch(controls, ways)
        _draw_losses(ways)
        with view.know:
            _draw_figures(ways, source)
    else:
        with stage():
            _draw_nothing(source, job)
    if failures := rows.left_out(source, job):
        reasons = "; ".join(f"{one.way.title} ({plain(one.reason)})" for one in failures)
        st.caption(f"Not timed here: {reasons}.")
    _draw_run(controls, job)


def notice(ways: Sequence[LayerRow]) -> str:
    by_way = {row.way: row for row in ways}
    naive, ours = by_way.get(Way.NAIVE), by_way.get(Way.OURS)
    if ours is None:
        return f"{ways[0].way.title} takes **{duration(ways[0].step_us)} per step**."
    speed = f"the same step is **{ours.times_bf16:.2f} times as fast as bf16**"
    if naive is None:
        return f"Fused, {speed}."
    share = naive.role_us(Role.QUANTIZE) / naive.span_us
    return f"Op by op, quantizing takes {share:.0%} of the time. Fused, {speed}."


def _draw_lanes(ways: Sequence[LayerRow], place: Place, key: str) -> None:
    lanes = list(map(lane_of, ways))
    draw_chart(
        lanes_chart(lanes, room() - _LEGEND, page_ink()),
        key=key,
        place=place,
        alt="Timelines of one step. "
        + "; ".join(f"{lane.name}: {lane.speed}, {lane.time}" for lane in lanes),
    )
    place.html(legend(_roles_of(ways), page_ink()))


def lane_of(row: LayerRow) -> Lane:
    (name, note), pace = WAYS[row.way], row.step_us / row.span_us
    share = row.role_us(Role.QUANTIZE) / row.span_us
    return Lane(
        name=name,
        note=note,
        speed=f"{row.times_bf16:.2f}×",
        time=duration(row.step_us),
        share=f"{share:.0%} quantizes" if share else "",
        kernels=tuple(
            _kernel(kernel, own, pace) for kernel, own in zip(row.kernels, row.own_us, strict=True)
        ),
    )


def _kernel(kernel: KernelRun, own: float, pace: float) -> dict[str, object]:
    """A kernel in the chart. `pace`: the step's time over its profile's."""
    waits = kernel.time_us - own
    early = f", {duration(waits)} of it beside others" if waits > _EARLY_US else ""
    rates = (
        "" if kernel.gb_s is None else f"{kernel.gb_s:,.0f} GB/s",
        "" if kernel.tflop_s is None else f"{kernel.tflop_s:,.0f} TFLOP/s",
    )
    return {
        "start": kernel.start_us * pace,
        "end": kernel.end_us * pace,
        "own": own * pace,
        "role": NAMES[kernel.role],
        "phase": kernel.phase.value,
        "what": kernel.what,
        "time": duration(kernel.time_us) + early,
        "traffic": "not counted" if kernel.bytes is None else bytes_text(kernel.bytes),
        "rate": ", ".join(filter(None, rates)) or "not counted",
        "name": kernel.name,
    }


def _roles_of(ways: Sequence[LayerRow]) -> tuple[str, ...]:
    roles = {kernel.role for row in ways for kernel in row.kernels}
    return tuple(name for role, name in NAMES.items() if role in roles)


def _draw_switch(controls: Controls, ways: Sequence[LayerRow]) -> None:
    st.header("Which bars vanish?")
    here().know.markdown(SWITCH_READING)
    lanes = {row.way.value: lane_of(row) for row in ways}
    way = controls.within(WAY, options={value: lane.name for value, lane in lanes.items()})
    roles = _roles_of(ways)

    def alt_text(value: str) -> str:
        sums = "; ".join(f"{role} {lanes[value].figures(role)}" for role in roles)
        return f"Kernels of {lanes[value].name} by their role: {sums}"

    spec = switch_chart(list(lanes.values()), tuple(lanes), roles, page_ink())
    chart_with_slider(
        controls,
        WAY,
        name="fused_switch",
        inputs=(page_ink(), *((rows.step(row.job), row.way, row.date, row.step_us) for row in ways)),
        at=way,
        spec_at=lambda start: with_slider(spec, SWITCH, start),
        alt_at=alt_text,
        is_fitted=True,
    )


def _draw_figures(ways: Sequence[LayerRow], source: str) -> None:
    lines = [
        {
            "way": row.way.title,
            "step, µs": row.step_us,
            "× bf16": row.times_bf16,
            "eager, µs": row.eager.median_us,
            "kernels": len(row.kernels),
            "matmuls, µs": row.role_us(Role.MATMUL),
            "quantizing, µs": row.role_us(Role.QUANTIZE),
            "gaps, µs": row.gaps_us,
            "GB moved": None if row.bytes is None else row.bytes / 1e9,
            "MiB held": row.held_bytes / (1 << 20),
        }
        for row in ways
    ]
    draw_rows(lines, column_config=_COLUMNS)
    st.caption(origin_sentence(ways, source))
    for row in ways:
        if row.note:
            st.caption(f"**{row.way.title}.** {plain(row.note)}")


def origin_sentence(ways: Sequence[LayerRow], source: str) -> str:
    graphs = "as one CUDA graph" if all(row.in_graph for row in ways) else "some launched one by one"
    gpu = ways[0].gpu
    place = f"GPU: {gpu}" if source == HERE else recorded_on(gpu)
    origins = [row_origin(row, place) for row in ways]
    runs = "Not all ways are of one run, but each took turns with bf16"
    if len(set(origins)) == len({row.bf16 for row in ways}) == 1:
        runs = "All ways took turns in one run"
    return plain(f"{origins_words(origins)}. {runs}. Times of kernels by {CLOCK}, {graphs}.")


def _draw_nothing(source: str, job: TimelineJob) -> None:
    near = rows.others(source, job)
    where = "measured here in this session" if source == HERE else "recorded on this GPU"
    nothing = f"No timeline of **{job.title}** is {where}."
    if not near:
        st.info(
            f"{nothing} On a GPU, `python -m kernels.measure layer --record` records timelines, and the "
            "button below measures one. The section *One pass or two* needs neither."
        )
        return
    st.info(f"{nothing} Each link opens one that is:")
    for one in near[:_OTHERS]:
        st.page_link(
            "pages/fused.py",
            label=one.title,
            icon=":material/history:",
            query_params=link_params(
                **recipe_params(one.recipe),
                **{BLOCK.key: one.block.value, TOKENS.key: str(one.tokens), "fused_gpu": source},
            ),
        )


def _draw_run(controls: Controls, job: TimelineJob) -> None:
    def run() -> None:
        controls.preset(fused_gpu=HERE)
        gpu_queue.submit(job)

    def draw_partial(timeline: Timeline) -> None:
        if timeline.rows:
            _draw_lanes(rows.in_order(timeline.rows), st, key="fused_lanes_so_far")

    more = here().more
    more.markdown(f"**Measure it here**: {job.title}, every way in turn")
    gpu_queue.draw_run("Run on the GPU", run, key="run_timeline", place=more)
    gpu_queue.draw_queue(draw_partial)


LOSS_READING = (
    "**Needed** is the least time of a kernel: of a matmul at the rate of this step's fastest fp8 matmul, of "
    "any other one at the rate of a copy of as many bytes. The rest is **lost**."
)
_FP8 = (Way.OURS, Way.OURS_KEPT, Way.BOUND)
_WITHIN = ": "  # between the words of a piece and those of one of its kernels
_MOMENT = 0.002  # the share of a step below which a piece is left out
_LINE, _AROUND = 40, 100  # pixels of a kernel with its words, and of the axis and the legend


@dataclass(frozen=True, kw_only=True)
class Rates:
    """The rates of the fastest fp8 matmul, and of a recorded copy."""

    tflop_s: float
    copy_gb_s: float | None


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Kernels that belong together, such as an amax and a cast, and their bound `least_us`."""

    what: str
    role: Role
    time_us: float
    least_us: float | None

    @property
    def lost_us(self) -> float:
        return 0.0 if self.least_us is None else self.time_us - self.least_us


def rates(ways: Sequence[LayerRow]) -> Rates | None:
    """The rates in these ways of one step; None without an fp8 matmul."""
    fastest = [kernel.tflop_s for row in ways if row.way in _FP8 for kernel in row.kernels if kernel.tflop_s]
    if not fastest:
        return None
    copies = rows.quantizers().rows.get(slug(ways[0].gpu), ())
    return Rates(tflop_s=max(fastest), copy_gb_s=median(row.copy_gb_s for row in copies) if copies else None)


def lost_time(ways: Sequence[LayerRow]) -> tuple[LayerRow, list[Piece], Rates] | None:
    """The fused step, its pieces and the rates of their bounds; None without one."""
    ours, peak = next((row for row in ways if row.way is Way.OURS), None), rates(ways)
    return None if ours is None or peak is None else (ours, losses(ours, peak), peak)


def losses(row: LayerRow, peak: Rates) -> list[Piece]:
    """Each piece of a step beside its bound, which is never longer than the piece."""
    pieces: list[list[tuple[KernelRun, float]]] = [[]]
    ends = any(kernel.piece_bytes is not None for kernel in row.kernels)
    for kernel, own in zip(row.kernels, row.own_us, strict=True):
        pieces[-1].append((kernel, own))
        if kernel.piece_bytes is not None or not ends:
            pieces.append([])
    return [_piece(piece, peak) for piece in pieces if piece]


def _piece(piece: Sequence[tuple[KernelRun, float]], peak: Rates) -> Piece:
    kernels, time_us = [kernel for kernel, _ in piece], sum(own for _, own in piece)
    longest, last = max(kernels, key=lambda kernel: kernel.time_us), kernels[-1]
    what = longest.what if len(kernels) == 1 else longest.what.partition(_WITHIN)[0]
    flop, traffic = longest.flop, last.bytes if last.piece_bytes is None else last.piece_bytes
    least_us = None
    if flop is not None:
        least_us = flop / peak.tflop_s / 1e6
    elif traffic is not None and peak.copy_gb_s is not None:
        least_us = traffic / peak.copy_gb_s / 1e3
    bound = None if least_us is None else min(time_us, least_us)
    return Piece(what=what, role=longest.role, time_us=time_us, least_us=bound)


def sentence(row: LayerRow, pieces: Sequence[Piece], peak: Rates) -> str:
    matmuls = [one for one in pieces if one.role is Role.MATMUL]
    others = [one for one in pieces if one.role is not Role.MATMUL]
    most = max(matmuls, key=lambda one: one.lost_us)
    parts = [
        f"matmuls lose **{_sum(matmuls):,.0f} µs** against the fastest one, {peak.tflop_s:,.0f} TFLOP/s, "
        f"and {most.what} loses most, {most.lost_us:,.0f} µs"
    ]
    bound = [one for one in others if one.least_us is not None]
    least = "" if len(bound) == len(others) else "at least "
    if bound:
        parts.append(
            f"all other kernels lose {least}**{_sum(bound):,.0f} µs** against a copy, "
            f"{peak.copy_gb_s:,.0f} GB/s"
        )
    speed = row.bf16.median_us / (row.step_us - _sum(pieces))
    parts.append(f"without these losses the step would have {least}{speed:.2f} times bf16's speed")
    words = "; ".join(parts)
    return f"{words[0].upper()}{words[1:]}."


def _sum(pieces: Sequence[Piece]) -> float:
    return sum(one.lost_us for one in pieces)


def _draw_losses(ways: Sequence[LayerRow]) -> None:
    if (step := lost_time(ways)) is None:
        return
    pieces = step[1]
    least = _MOMENT * sum(one.time_us for one in pieces)
    long = [one for one in pieces if one.least_us is not None and one.time_us >= least]
    lines = [
        Bar(
            name=f"{place}. {one.what.partition(' for ')[0]}",  # a telephone has no room for more
            pieces={"needed": one.least_us, "lost": one.lost_us},
            label=f"{duration(one.time_us)}, {one.time_us / max(one.least_us, 1e-9):.2f}× its bound",
        )
        for place, one in enumerate(long, 1)
    ]
    st.header("What is left to gain?")
    st.markdown(sentence(*step))
    draw_chart(
        bars(lines, {"needed": "", "lost": ""}, "µs", _LINE * len(lines) + _AROUND, page_ink()),
        key="fused_bounds",
        alt="Kernels of the fused step and their bounds. "
        + "; ".join(f"{line.name}: {line.label}" for line in lines),
    )
    rest, remark = [one for one in pieces if one not in long], ""
    if rest:
        kernels, time = count(len(rest), "kernel"), duration(sum(one.time_us for one in rest))
        remark = f" Left out: {kernels}, {time} together, short or with bytes that nobody counted."
    here().know.markdown(LOSS_READING + remark)
