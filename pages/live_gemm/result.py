"""One result in full: its error and the causes, its speed and peers, its kernel's source."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from kernels.gemm.blocks import Variant
from kernels.gemm.numerics import Arithmetic
from kernels.gemm.plan import PlanRecord
from kernels.gemm.simple import dot_scaled
from kernels.gemm.variants import VARIANTS, WHOLE_FILE
from kernels.gemm.variants import Source as KernelPlace
from kernels.measure.jobs import GemmJob
from kernels.measure.rows import SIMPLE_FIRST, Peer, Provenance, Row, Timing
from pages.kit.charts.recipe_marks import BF16, mark_of
from pages.kit.charts.words import duration, number
from pages.kit.controls import Controls
from pages.kit.gemm.queue_panel import is_awaited
from pages.kit.gemm.results import Origin, Result
from pages.kit.in_code.source_text import Source, explanation, files, text
from pages.kit.inert import plain
from pages.kit.view import Clicks, draw_chart, here, notices_wait, page_ink, room
from pages.kit.widgets import Place
from pages.live_gemm import element, words
from pages.live_gemm.charts.error_map import PICK, error_map
from pages.live_gemm.charts.timings import LINE, Contender, Figure, timings
from pages.live_gemm.facts import ELEMENT

_REFOLDING = ("gemm/passes/refold.py", "refold_kernel")
_DEQUANTIZING = ("gemm/passes/dequantize.py", "code_values")
_SCALE_BLOCKS = ("gemm/blackwell.py", "scale_blocks_kernel")
_GENERAL = ("gemm/simple/general_kernel.py", "general_gemm_kernel")
_GENERAL_TITLE = " with everything that a plan may ask for"
_SHARED_SUMS = ("gemm/hopper/shared_sums.py", WHOLE_FILE)
_DECODING = ("gemm/passes/decode.py", WHOLE_FILE)
SIMPLE = Source(title=VARIANTS[Variant.SIMPLE].title, places=VARIANTS[Variant.SIMPLE].sources)


def source_of(plan: PlanRecord) -> Source:
    variant = VARIANTS[plan.variant]
    general = plan.blocks.is_general
    splits = plan.blocks.split_k > 1 and not plan.variant.is_simple
    passes, after = _passes(plan)
    return Source(
        title=variant.title + _GENERAL_TITLE * general + ", split-K" * splits + after,
        places=(
            *passes,
            *((_GENERAL,) if general else variant.sources),
            *(_SHARED_SUMS,) * splits,
        ),
        explained_in=variant.explained_in,
    )


def _passes(plan: PlanRecord) -> tuple[tuple[KernelPlace, ...], str]:
    if plan.refolded:
        return (_REFOLDING,), ", after a pass that refolds"
    if plan.arithmetic is Arithmetic.NATIVE_MX:
        return (_SCALE_BLOCKS,), ", after a pass that lays out the scales"
    if plan.arithmetic is not Arithmetic.DEQUANTIZED:
        return (), ""
    if plan.variant is Variant.DECODING:
        return (_DECODING,), ", after a pass over the other"
    decodes = ", which decodes in its K loop" if plan.blocks.decoded else ", after a pass that dequantizes"
    return (_DEQUANTIZING,), decodes


def draw_kernel(row: Row, place: Place) -> None:
    simple = [] if row.plan is not None and row.plan.variant.is_simple else [SIMPLE]
    sources = [*simple, *([] if row.plan is None else [source_of(row.plan)])]
    place.markdown(sentence(row))
    if sources[-1].explained_in:
        place.markdown(explanation(sources[-1].explained_in))
    for column, source in zip(place.columns(len(sources)), sources, strict=True):
        column.markdown(f"**{source.title}**, {files(source)}")
        column.code(text(source), language="python", height=420)


def sentence(row: Row) -> str:
    if row.plan is None:
        return f"**{plain(row.kernel)}** ran, whose source is not shown here; below is the simple kernel."
    ran = f"**{source_of(row.plan).title}** ran: {plain(row.kernel)}."
    if row.why:
        ran += f" Why: {plain(row.why)}."
    if Peer.SIMPLE in row.times:
        ran += (
            f" The simple kernel by its own plan took {duration(row.us(Peer.SIMPLE))} in the same run: this "
            f"one is {row.over(Peer.SIMPLE):.2f} times as fast."
        )
    return ran


_TRUTH = "**Error**: ‖D − truth‖ / ‖truth‖. The truth is the product of the unquantized operands in fp64."

# The times' share of the height, pixels of a heading, and the worst elements in the picture.
_TIMES, _HEADING, _MOST_WORST = 0.34, 30, 5
_FIRST = (
    "This is the first answer: errors over some rows of D, times of a few short turns. The careful one has "
    "torch's own matmul beside it."
)


def notice(result: Result, timing: Result | None, *, runs: str) -> str:
    """The speed and the error. `runs`: the shape that Run multiplies instead."""
    row = result.row
    error = words.percent(row.errors.rel_err)
    times = timing and timing.row.over(Peer.BF16)
    if result.is_interpreted:
        words_here = f"No GPU here: this CPU computes the same codes and sums, **{error} error**."
        return words_here + (f" The times are the {_gpu(timing)}'s, recorded." if timing else "")
    speed = f"**{times:.2f} times as fast as bf16**" if times else "no time of bf16"
    if result.origin is Origin.RECORDED:
        press = f" Press Run to multiply{runs} here." if runs else ""
        return f"Recorded on the {_gpu(result)}: {speed}, {error} error.{press}"
    cause = "quantization" if row.errors.quantization_rel_err > row.errors.kernel_rel_err else "the sum"
    first = " The simple kernel answered first, while the fast one is compiled." * (row.why == SIMPLE_FIRST)
    return f"Here it multiplies {speed}. Of its {error} error, most comes from {cause}.{first}"


def _gpu(result: Result) -> str:
    return plain(result.row.machine.name)


def draw_picture(
    controls: Controls, result: Result, timing: Result | None, job: GemmJob, place: Place
) -> None:
    left = room()
    if timing is not None:
        field = contenders(timing.row)
        tall = min(_TIMES * room(), 34 + LINE * len(field))
        left -= tall
        place.markdown(_heading(timing, job))
        _draw_bars(timing, field, tall, place)
    if timing is not result:
        place.markdown(_heading(result, job))
    left -= _HEADING * (1 + (timing is not result and timing is not None))
    if result.row.errors.error_map and result.row.errors.error_map[0]:
        _draw_map(controls, result.row, left, place)


def _source(result: Result) -> str:
    return f"{'□' if result.origin is Origin.RECORDED else '■'} **{plain(result.where)}**"


def _heading(result: Result, job: GemmJob) -> str:
    ran = result.row.job
    is_other = (ran.m, ran.n, ran.k) != (job.m, job.n, job.k)
    return f"{_source(result)}, {ran.m} × {ran.n} × {ran.k}" + ", not the shape above" * is_other


def _draw_bars(result: Result, field: Sequence[Contender], tall: float, place: Place) -> None:
    times, in_all, figure = result.row.over(Peer.BF16), result.row.over_bf16_with_quantize, Figure()
    if times:
        more = f"{in_all:.2f}× if it quantizes first" if in_all else ""
        figure = Figure(figure=f"{times:.2f}×", words="as fast as bf16", more=more)
    draw_chart(
        timings(field, figure, tall, page_ink(), is_recorded=result.origin is Origin.RECORDED),
        key="times",
        place=place,
        alt="Bars of time. " + "; ".join(f"{c.name}: {duration(c.median_us)}" for c in field),
    )


def draw_details(result: Result, job: GemmJob, place: Place) -> None:
    row = result.row
    with place:
        st.markdown(f"{words.headline(row.job)}\n\n{_source(result)}, {plain(result.when)}")
        if differs := words.differences(row.job, job):
            st.caption(f"This run differs from the controls: {differs}.")
        if row.is_first:
            to_come = "It takes this one's place when the GPU has time."
            st.caption(f"{_FIRST} {to_come if is_awaited(row.job) else 'It was not made: run it again.'}")
        _draw_error(row)
        _draw_time(row)
        _draw_details(row)
        draw_kernel(row, place)


def _draw_error(row: Row) -> None:
    st.write(f"{_TRUTH} {words.error_sentence(row)}")
    if row.provenance is Provenance.INTERPRETER:
        st.caption("The interpreter adds in fp32; a tensor core keeps fewer bits.")
    if row.prediction:
        st.write(words.prediction_sentence(row.prediction))
        st.page_link("pages/accumulation.py", label="How the tensor core adds", icon=":material/functions:")
    if row.error_note:
        st.caption(f"To keep the fp64 check short: {plain(row.error_note)}.")


def _draw_map(controls: Controls, row: Row, tall: float, place: Place) -> None:
    mn, refusal = None, element.too_large(row.job)
    try:
        mn = element.read_element(controls.draw(ELEMENT), row.job)
    except ValueError as error:
        place.warning(plain(str(error)))
    curve = element.sum_curve(mn, row)

    def pick(mark: Mapping[str, Any]) -> None:
        if mark.get("row") is not None and not refusal:
            controls.preset(**{ELEMENT.key: f"{int(mark['row'])}.{int(mark['column'])}"})

    matmul = row.job.matmul_data
    causes = {"by quantization": row.errors.quantization_rel_err, "by the sum": row.errors.kernel_rel_err}
    most = max(filter(math.isfinite, causes.values()), default=0.0) or 1.0
    figures = [(words.percent(row.errors.rel_err), "error of D", 0.0)]
    figures += [
        (words.percent(error), name, error / most if math.isfinite(error) else 0.0)
        for name, error in ({} if notices_wait() else causes).items()  # a lesson asks for them first
    ]
    spec = error_map(
        row.errors.error_map,
        (row.job.m, row.job.n),
        [(w.m, w.n, w.truth, w.result) for w in row.errors.worst[:_MOST_WORST]],
        figures,
        tall,
        page_ink(),
        m=matmul.m.value,
        n=matmul.n.value,
        curve=curve,
        refusal=refusal,
    )
    peak = max(max(band) for band in row.errors.error_map if band)
    draw_chart(
        spec,
        key="errors",
        clicks=Clicks(PICK, pick),
        place=place,
        alt=f"Error of {matmul.d.value}: {words.percent(row.errors.rel_err)}. Heatmap of its patches: the "
        f"largest error is {words.percent(peak)} of its rms."
        + (f" {element.words_of(curve)}" if curve else ""),
    )
    here().know.markdown(f"{element.RULE} {refusal}")


def _draw_time(row: Row) -> None:
    if row.ours is None:
        st.write(f"**Speed**: {plain(row.note or 'not timed')}.")
        return
    low, high = duration(row.ours.p20_us), duration(row.ours.p80_us)
    median = f"{duration(row.ours.median_us)}, the median of {row.ours.runs} runs"
    st.write(f"**Speed**: {median}; 20th percentile {low}, 80th {high}.")
    if Peer.QUANTIZE in row.times:
        share = row.us(Peer.QUANTIZE) / (row.us(Peer.QUANTIZE) + row.ours.median_us)
        st.write(
            f"Quantizing A and B takes {duration(row.us(Peer.QUANTIZE))} more, {share:.0%} of the "
            "whole; a model that keeps quantized weights pays only for its activations."
        )
    if Peer.TORCH not in row.times and row.note:
        st.write(f"No time of torch's scaled op: {plain(row.note)}.")
    if how := words.timing_sentence(row):
        st.caption(how)


def contenders(row: Row) -> list[Contender]:
    mark = mark_of(row.job.recipe)

    def contender(name: str, timing: Timing, quantize: Timing | None = None) -> Contender:
        return Contender(
            name=name,
            mark=BF16 if timing is row.times.get(Peer.BF16) else mark,
            is_ours=timing is row.ours,
            median_us=timing.median_us,
            p20_us=timing.p20_us,
            p80_us=timing.p80_us,
            quantize_us=quantize.median_us if quantize else None,
        )

    peers = {
        "the simple kernel": row.times.get(Peer.SIMPLE),
        "torch's scaled op": row.times.get(Peer.TORCH),
        "bf16 torch.mm": row.times.get(Peer.BF16),
        dot_scaled.TITLE: row.times.get(Peer.DOT_SCALED),
    }
    own = [contender("this kernel", row.ours, row.times.get(Peer.QUANTIZE))] if row.ours else []
    return own + [contender(name, timing) for name, timing in peers.items() if timing]


def _draw_details(row: Row) -> None:
    own, torch = row.ours or Timing(median_us=1.0, runs=0), row.times.get(Peer.TORCH)
    later = "comes with the careful answer" if row.is_first else ""
    facts = {
        "Torch's scaled op": (torch.op if torch else "") or later or "none was timed",
        "D": row.job.spec.out.name,
        "Bytes, at least": f"{row.bytes:,}, {number(row.gb_s)} GB/s",
        "Clock": f"{own.clock_mhz:.0f} MHz" if own.clock_mhz else later or "not read",
        "Power": f"{own.power_w:.0f} W" if own.power_w else later or "not read",
    }
    st.markdown("\n".join(f"- {name}: {plain(fact)}" for name, fact in facts.items()))
