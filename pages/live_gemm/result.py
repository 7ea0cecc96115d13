"""One result in full: the run, its error and the causes, its speed, its peers and its kernel's source."""

import math
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from kernels.bench.job import GemmJob
from kernels.bench.machine import Timing
from kernels.bench.row import Provenance, Row
from kernels.gemm.blocks import Body
from kernels.gemm.bodies import BODIES, WHOLE_FILE
from kernels.gemm.bodies import Source as KernelPlace
from kernels.gemm.meaning import Arithmetic
from kernels.gemm.ran import RanPlan
from kernels.gemm.simple import dot_scaled
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS
from pages.kit.charts.recipe_marks import BF16, mark_of
from pages.kit.charts.timings import LINE, Contender, Figure, timings
from pages.kit.controls import link_params
from pages.kit.gemm import words
from pages.kit.gemm.presets import SMALL
from pages.kit.gemm.queue_panel import is_awaited
from pages.kit.gemm.results import Origin, Result, as_asked, usual
from pages.kit.gemm.words import duration
from pages.kit.in_code.source_text import Source, explanation, files, text
from pages.kit.inert import plain
from pages.kit.recipes import recipe_params
from pages.kit.shell import theme
from pages.kit.tables import arrow_table, draw_rows
from pages.kit.widgets import Place
from pages.live_gemm.charts.error_map import error_map

_REFOLDING = ("operand_passes/refold_kernel.py", "refold_kernel")
_DEQUANTIZING = ("operand_passes/read_kernel.py", "code_values")
_SCALE_BLOCKS = ("operand_passes/native_kernel.py", "scale_blocks_kernel")
_DECODING = ("operand_passes/decode_ptx.py", WHOLE_FILE)
_CODE = 420
"""Pixels of a source."""
_WARPS = 8
"""Any that the simple kernel takes: the choice changes nothing in its source."""


SIMPLE = Source(title=BODIES[Body.SIMPLE].title, places=BODIES[Body.SIMPLE].sources)


def source_of(plan: RanPlan) -> Source:
    """The source that a plan runs, its title and its explanation from the registry of bodies."""
    body = BODIES[plan.body]
    general = plan.blocks.is_general
    splits = plan.blocks.split_k > 1 and bool(body.shared_sources)
    passes, after = _passes(plan)
    return Source(
        title=body.title + body.general * general + body.shared * splits + after,
        places=(*passes, *(body.general_sources if general else body.sources), *body.shared_sources * splits),
        explained_in=body.explained_in,
    )


def _passes(plan: RanPlan) -> tuple[tuple[KernelPlace, ...], str]:
    """The passes over the operands, and the words for them after a body's title."""
    if plan.refolded:
        return (_REFOLDING,), ", after a pass that refolds"
    if plan.arithmetic is Arithmetic.NATIVE_MX:
        return (_SCALE_BLOCKS,), ", after a pass that lays out the scales"
    if plan.arithmetic is not Arithmetic.DEQUANTIZED:
        return (), ""
    if plan.body is Body.DECODING:
        return (_DECODING,), ", after a pass over the other"
    decodes = ", which decodes in its K loop" if plan.blocks.decoded else ", after a pass that dequantizes"
    return (_DEQUANTIZING,), decodes


def instead_of(plan: RanPlan) -> Source | None:
    """The source of the simple kernel for a plan's product; None where that is what runs."""
    if plan.body.is_simple:
        return None
    side = plan.blocks.block_k  # a power of two, which not every body's blocks of D are
    simple = replace(
        plan.blocks,
        body=Body.SIMPLE,
        block_m=side,
        block_n=side,
        warps=_WARPS,
        split_k=1,
        uneven=False,
        decoded="",
    )
    return source_of(replace(plan, blocks=simple))


def draw_kernel(row: Row, place: Place) -> None:
    """Draw which kernel ran and why, its source, and the simple one's where that did not run."""
    plan = row.plan
    shown = [SIMPLE] if plan is None else [one for one in (instead_of(plan), source_of(plan)) if one]
    place.markdown(sentence(row))
    if plan is not None and shown[-1].explained_in:
        place.markdown(explanation(shown[-1].explained_in))
    for column, source in zip(place.columns(len(shown)), shown, strict=True):
        column.markdown(f"**{source.title}**, {files(source)}")
        column.code(text(source), language="python", height=_CODE)


def sentence(row: Row) -> str:
    """A sentence on the kernel that ran and why, with its speed against the simple one where both
    were timed.
    """
    if row.plan is None:
        return f"**{plain(row.kernel)}** ran, whose source is not shown here; below is the simple kernel."
    said = f"**{source_of(row.plan).title}** ran: {plain(row.kernel)}."
    if row.why:
        said += f" Why: {plain(row.why)}."
    if row.simple is not None:
        said += (
            f" The simple kernel by its own plan took {duration(row.simple.median_us)} in the same run: this "
            f"one is {row.times_simple:.2f} times as fast."
        )
    return said


_TRUTH = "‖D − truth‖ / ‖truth‖, where the truth is the product of the unquantized operands in fp64."
_QUANTIZATION = (
    "The exact product of the dequantized operands (`torch.mm` in fp64) against the truth: the price of the "
    "FP8 values, which no kernel can lower."
)
_KERNEL = (
    "The kernel's result against that exact product of the same FP8 operands: the price of the tensor "
    "core's accumulator, of rounding D, and of refolding where it was chosen."
)

_SMALL = SMALL.label
_TIMES, _HEADING, _WORST_SHOWN, _NEAR_SHOWN = 0.34, 30, 5, 5
"""The times' share of the height, pixels of a heading, worst elements and nearby GEMMs that are named."""
_WORST = {name: st.column_config.NumberColumn(format="%.4g") for name in ("truth", "result", "error")}
_FIRST = (
    "This is the first answer: errors over some rows of D, times of a few short turns. The careful one has "
    "torch's own matmul beside it."
)
_TO_COME = "It takes this one's place when the GPU has time."
_NOT_TO_COME = "It was not made: run it again."
_ALL_IN = "Times faster than bf16 torch.mm where the time of quantizing A and B counts too."
_TORCH = "Times faster than torch's own scaled matmul of the same recipe, the matmul alone."
_SIMPLE = "Times faster than the simple kernel, the one to read, in the same run."
_DOT_SCALED = f"Times faster than {dot_scaled.TITLE} in the same run. {dot_scaled.NOTE}"


def notice(shown: Result, timed: Result | None, *, is_asked: bool) -> str:
    """The speed and the error, and which of them is of this machine."""
    error = words.percent(shown.row.rel_err)
    times = timed and timed.row.times_bf16
    if shown.is_interpreted:
        said = f"No GPU here: this CPU computes the same codes and sums, **{error} error**."
        return said + (f" The times are the {_gpu(timed)}'s, recorded." if timed else "")
    speed = f"**{times:.2f} times as fast as bf16**" if times else "no time of bf16"
    if shown.origin is Origin.RECORDED:
        press = "" if is_asked else f" Press Run to multiply {_SMALL} here."
        return f"Recorded on the {_gpu(shown)}: {speed}, {error} error.{press}"
    cause = "quantization" if shown.row.quantization_rel_err > shown.row.kernel_rel_err else "the kernel"
    return f"Here it multiplies {speed}. Of its {error} error, most comes from {cause}."


def _gpu(result: Result) -> str:
    return plain(result.row.machine.name)


def draw_picture(shown: Result, timed: Result | None, asked: GemmJob, place: Place) -> None:
    """The times above, the error below: each under a line that says where it is from."""
    left = room()
    if timed is not None:
        field = contenders(timed.row)
        tall = min(_TIMES * room(), 34 + LINE * len(field))
        left -= tall
        place.markdown(_heading(timed, asked))
        _draw_bars(timed, field, tall, place)
    if timed is not shown:
        place.markdown(_heading(shown, asked))
    left -= _HEADING * (1 + (timed is not shown and timed is not None))
    if shown.row.error_map and shown.row.error_map[0]:
        _draw_map(shown.row, left, place)


def _heading(result: Result, asked: GemmJob) -> str:
    """Markdown: filled and measured here, or outlined and recorded; the machine and the shape."""
    job = result.row.job
    is_other = (job.m, job.n, job.k) != (asked.m, asked.n, asked.k)
    shape = f"{job.m} × {job.n} × {job.k}" + ", not the shape above" * is_other
    return f"{'□' if result.origin is Origin.RECORDED else '■'} **{plain(result.where)}**, {shape}"


def _draw_bars(timed: Result, field: Sequence[Contender], tall: float, place: Place) -> None:
    row = timed.row
    in_all = row.times_bf16_with_quantize
    figure = Figure()
    if row.times_bf16:
        figure = Figure(
            figure=f"{row.times_bf16:.2f}×",
            told="as fast as bf16",
            more=f"{in_all:.2f}× if it quantizes first" if in_all else "",
        )
    said = "; ".join(f"{c.name}: {words.duration(c.median_us)}" for c in field)
    draw_chart(
        timings(field, figure, tall, INKS[theme()], is_recorded=timed.origin is Origin.RECORDED),
        key="times",
        place=place,
        alt=f"Bars of time. {said}",
        is_rigid=True,
    )


def draw_details(
    result: Result, asked: GemmJob, records: Sequence[Result], place: Place, *, key: str
) -> None:
    """Draw one result in full; `key` tells it from others on the page.

    Where it is not of the job that the controls describe, a sentence says so.
    """
    row = result.row
    with place:
        st.markdown(words.headline(row.job))
        with st.container(horizontal=True, vertical_alignment="center"):
            # Not st.badge: it puts a backslash before each bracket, and two would set the bracket free.
            color, icon = _look(result)
            st.markdown(f":{color}-badge[{icon} {plain(result.where)}]", width="content")
            st.caption(plain(result.when), width="content")
        if differs := words.differences(row.job, asked):
            st.caption(f"This run differs from the controls: {differs}.")
        if row.is_first:
            st.caption(f"{_FIRST} {_TO_COME if is_awaited(row.job) else _NOT_TO_COME}")
        _draw_error(row, records)
        _draw_time(row)
        _draw_details(row)
        draw_kernel(row, place)


def _look(result: Result) -> tuple[str, str]:
    """The color of a result's badge, and its icon."""
    if result.origin is Origin.RECORDED:
        return "violet", ":material/history:"
    return ("orange", ":material/calculate:") if result.is_interpreted else ("green", ":material/memory:")


def _metric(label: str, value: str, explained: str) -> None:
    st.metric(label, value, help=explained, width=150)


def _draw_error(row: Row, records: Sequence[Result]) -> None:
    with st.container(horizontal=True):
        _metric("Error, rel_err", words.percent(row.rel_err), _TRUTH)
        _metric("SQNR", words.decibel(row.sqnr_db), "−20 log₁₀ of rel_err; 6 dB is one bit.")
        _metric("by quantization", words.percent(row.quantization_rel_err), _QUANTIZATION)
        _metric("by the kernel", words.percent(row.kernel_rel_err), _KERNEL)
    st.write(words.error_sentence(row))
    if row.provenance is Provenance.INTERPRETER:
        st.caption(f"The interpreter adds in fp32; a tensor core keeps fewer bits.{_beside(row, records)}")
    if row.prediction:
        st.write(words.prediction_sentence(row.prediction))
        st.page_link("pages/accumulation.py", label="How the tensor core adds", icon=":material/functions:")
    if row.error_note:
        st.caption(f"To keep the fp64 check short: {plain(row.error_note)}.")


def _beside(row: Row, records: Sequence[Result]) -> str:
    """A sentence on the kernel's share in the nearest recorded run."""
    found = next((one for one in usual(row.job, records) if math.isfinite(one.row.kernel_rel_err)), None)
    if found is None:
        return ""
    shares = words.percent(found.row.kernel_rel_err), words.percent(row.kernel_rel_err)
    return (
        f" The kernel's share was {shares[0]} on the {_gpu(found)}, {found.row.job.size}; here {shares[1]}."
    )


def _draw_map(row: Row, tall: float, place: Place) -> None:
    matmul = row.job.matmul_data
    causes = {"by quantization": row.quantization_rel_err, "by the kernel": row.kernel_rel_err}
    most = max(filter(math.isfinite, causes.values()), default=0.0) or 1.0
    figures = [(words.percent(row.rel_err), "error of D", 0.0)]
    figures += [
        (words.percent(error), name, error / most if math.isfinite(error) else 0.0)
        for name, error in causes.items()
    ]
    spec = error_map(
        row.error_map,
        (row.job.m, row.job.n),
        [(w.m, w.n, w.truth, w.result) for w in row.worst[:_WORST_SHOWN]],
        figures,
        tall,
        INKS[theme()],
        m=matmul.m.value,
        n=matmul.n.value,
    )
    peak = max(max(band) for band in row.error_map if band)
    draw_chart(
        spec,
        key="errors",
        place=place,
        alt=f"Error of {matmul.d.value}: {words.percent(row.rel_err)}. Heatmap of its patches: the largest "
        f"error is {words.percent(peak)} of its rms",
        is_rigid=True,
    )


def _draw_time(row: Row) -> None:
    if row.gemm is None:
        st.write(f"**Speed**: {plain(row.peer_note or 'not timed')}.")
        return
    with st.container(horizontal=True):
        low, high = words.duration(row.gemm.p20_us), words.duration(row.gemm.p80_us)
        spread = f"Median of {row.gemm.runs} runs; 20th percentile {low}, 80th {high}."
        _metric("Time", words.duration(row.gemm.median_us), spread)
        _metric("TFLOP/s", words.number(row.tflop_s), "2 · M · N · K / time.")
        _metric("GB/s", words.number(row.gb_s), "Codes, scales and D, once each, / time.")
        _metric("× bf16", words.ratio(row.times_bf16), "Times faster than bf16 torch.mm.")
        _metric("× bf16, in all", words.ratio(row.times_bf16_with_quantize), _ALL_IN)
        _metric("× torch", words.ratio(row.times_torch_scaled), _TORCH)
        if row.simple is not None:
            _metric("× simple", words.ratio(row.times_simple), _SIMPLE)
        if row.dot_scaled is not None:
            _metric("× dot_scaled", words.ratio(row.times_dot_scaled), _DOT_SCALED)
    st.write(_time_sentence(row))
    if how := words.timing_sentence(row):
        st.caption(how)


def _time_sentence(row: Row) -> str:
    said = []
    if row.quantize is not None and row.gemm is not None:
        share = row.quantize.median_us / (row.quantize.median_us + row.gemm.median_us)
        said.append(
            f"Quantizing A and B takes {words.duration(row.quantize.median_us)} more, {share:.0%} of the "
            "whole; a model that keeps quantized weights pays only for its activations."
        )
    if row.torch_scaled is None and row.peer_note:
        said.append(f"No time of torch's scaled op: {plain(row.peer_note)}.")
    return " ".join(said)


def contenders(row: Row) -> list[Contender]:
    """The bars of a row that have a time.

    They are the kernel, the simple kernel, torch's scaled op of the recipe, bf16 and tl.dot_scaled.
    """

    mark = mark_of(row.job.recipe)

    def contender(name: str, timing: Timing, quantize: Timing | None = None) -> Contender:
        return Contender(
            name=name,
            mark=BF16 if timing is row.bf16 else mark,
            is_ours=timing is row.gemm,
            median_us=timing.median_us,
            p20_us=timing.p20_us,
            p80_us=timing.p80_us,
            quantize_us=quantize.median_us if quantize else None,
        )

    peers = {
        "the simple kernel": row.simple,
        "torch's scaled op": row.torch_scaled,
        "bf16 torch.mm": row.bf16,
        dot_scaled.TITLE: row.dot_scaled,
    }
    own = [contender("this kernel", row.gemm, row.quantize)] if row.gemm else []
    return own + [contender(name, timing) for name, timing in peers.items() if timing]


def _draw_details(row: Row) -> None:
    if row.worst:
        st.markdown("The worst elements:")
        draw_rows(
            arrow_table(
                [
                    {"m": w.m, "n": w.n, "truth": w.truth, "result": w.result, "error": w.result - w.truth}
                    for w in row.worst
                ]
            ),
            column_config=_WORST,
        )
    machine, later = row.machine, "comes with the careful answer" if row.is_first else ""
    facts = {
        "Kernel": row.kernel,
        "Torch's scaled op": row.torch_op or later or "none was timed",
        "D": row.out,
        "Bytes, at least": f"{row.bytes:,}",
        "Machine": machine.name,
        "Clock": f"{machine.clock_mhz:.0f} MHz" if machine.clock_mhz else later or "not read",
        "Power": f"{machine.power_w:.0f} W" if machine.power_w else later or "not read",
        "Versions": ", ".join(f"{name} {version}" for name, version in machine.versions.items()),
        "Date": row.date,
    }
    st.markdown("\n".join(f"- {name}: {plain(fact)}" for name, fact in facts.items()))


def nothing(job: GemmJob, *, near: bool = True) -> str:
    """A sentence on a GEMM without a result; or on its recipe and matmul, of which no run is recorded."""
    if near:
        return f"Nothing has been run yet for **{job.size}**, and nothing is recorded for it."
    return f"No GEMM of {job.recipe_data.title}, {job.matmul_data.title}, is recorded for a GPU."


def draw_nearby(job: GemmJob, near: Sequence[GemmJob], place: Place) -> None:
    """Links to the nearest recorded GEMMs, where the chosen one is none of them."""
    asked = as_asked(job)
    if not near or asked in near:
        return
    asked_words = f"{job.recipe_data.title}, {job.matmul_data.title}"
    place.markdown(
        f"Nothing is recorded for {job.size}. Other GEMMs of {asked_words}, are, the nearest first:"
    )
    for one in near[:_NEAR_SHOWN]:
        place.page_link(
            "pages/live_gemm.py",
            label=title(one, job),
            icon=":material/history:",
            query_params=link_params(
                **recipe_params(one.recipe, one.own),
                matmul=one.matmul,
                m=one.m,
                n=one.n,
                k=one.k,
                a_input=one.input.value,
                accumulation=one.accumulation.value,
            ),
        )


def title(one: GemmJob, asked: GemmJob) -> str:
    """M × N × K, and the settings that differ from the chosen ones."""
    of_this_size = replace(one, m=asked.m, n=asked.n, k=asked.k, seed=asked.seed)
    differs = words.differences(of_this_size, asked)
    return f"M × N × K = {one.m} × {one.n} × {one.k}" + (f", {differs}" if differs else "")
