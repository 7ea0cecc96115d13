"""One result in full: the run, its error and the causes, its speed and its peers."""

from collections.abc import Sequence

import streamlit as st

from kernels.bench.job import GemmJob
from kernels.bench.machine import Timing
from kernels.bench.row import Provenance, Row
from kernels.gemm.simple import dot_scaled
from pages.kit.chart import draw_chart
from pages.kit.charts.timings import Contender, timings
from pages.kit.gemm import words as words
from pages.kit.gemm.queue_panel import is_awaited
from pages.kit.gemm.results import Origin, Result
from pages.kit.inert import plain
from pages.kit.tables.arrow_table import arrow_table
from pages.kit.tables.draw import draw_rows
from pages.sections.gemm.charts.error_map import error_map
from pages.sections.gemm.source import draw_kernel

_TRUTH = "‖D − truth‖ / ‖truth‖, where the truth is the product of the unquantized operands in fp64."
_QUANTIZATION = (
    "The exact product of the dequantized operands (`torch.mm` in fp64) against the truth: the price of the "
    "FP8 values, which no kernel can lower."
)
_KERNEL = (
    "The kernel's result against that exact product of the same FP8 operands: the price of the tensor "
    "core's accumulator, of rounding D, and of refolding where it was chosen."
)

_WORST = {name: st.column_config.NumberColumn(format="%.4g") for name in ("truth", "result", "error")}
_INTERPRETED = "The interpreter shows what the kernel computes. It adds in fp32 and is not timed."
_APART = "Do not compare this with the interpreter's run: a GPU's tensor core adds with fewer bits."
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


def draw_results(results: Sequence[Result], asked: GemmJob) -> None:
    """Draw results in full. Those of GPUs stand side by side, an interpreter's apart from them."""
    groups = apart(results)
    for group in groups:
        interpreted = group[0].is_interpreted
        if len(groups) > 1:
            st.header("In Triton's interpreter on this CPU" if interpreted else "On a GPU")
            st.caption(_INTERPRETED if interpreted else _APART)
        for column, result in zip(st.columns(len(group)), group, strict=True):
            with column:
                draw_result(result, asked, key=f"{results.index(result)}", is_alone=len(group) == 1)


def apart(results: Sequence[Result]) -> list[list[Result]]:
    """The interpreter's results, then the GPU's. The two groups must not be compared; no group is empty."""
    interpreted = [result for result in results if result.is_interpreted]
    on_gpu = [result for result in results if not result.is_interpreted]
    return [group for group in (interpreted, on_gpu) if group]


def draw_result(result: Result, asked: GemmJob, *, key: str, is_alone: bool) -> None:
    """Draw one result, over the whole width if it is alone; `key` tells it from others on the page.

    Where it is not of the job that the controls describe, a sentence says so.
    """
    row = result.row
    st.markdown(words.headline(row.job))
    with st.container(horizontal=True, vertical_alignment="center"):
        # Not st.badge: it puts a backslash before each bracket, and two of them would set the bracket free.
        badge = f":{_color(result)}-badge[{_icon(result)} {plain(result.where)}]"
        st.markdown(badge, width="content")
        st.caption(plain(result.when), width="content")
    if differs := words.differences(row.job, asked):
        st.caption(f"This run differs from the controls: {differs}.")
    if row.is_first:
        st.caption(f"{_FIRST} {_TO_COME if is_awaited(row.job) else _NOT_TO_COME}")
    error, time = st.columns(2, gap="large") if is_alone else (st.container(), st.container())
    with error:
        _draw_error(row)
        if row.error_map and row.error_map[0]:
            _draw_map(row, key)
    with time:
        _draw_time(row, key)
        _draw_details(row)
    draw_kernel(row)


def _icon(result: Result) -> str:
    if result.origin is Origin.RECORDED:
        return ":material/history:"
    return ":material/calculate:" if result.is_interpreted else ":material/memory:"


def _color(result: Result) -> str:
    if result.origin is Origin.RECORDED:
        return "violet"
    return "orange" if result.is_interpreted else "green"


def _draw_error(row: Row) -> None:
    with st.container(horizontal=True):
        st.metric("Error, rel_err", words.percent(row.rel_err), help=_TRUTH, width=130)
        st.metric(
            "SQNR", words.decibel(row.sqnr_db), help="−20 log₁₀ of rel_err; 6 dB is one bit.", width=130
        )
        st.metric("by quantization", words.percent(row.quantization_rel_err), help=_QUANTIZATION, width=130)
        st.metric("by the kernel", words.percent(row.kernel_rel_err), help=_KERNEL, width=160)
    st.write(words.error_sentence(row))
    if row.provenance is Provenance.INTERPRETER:
        st.caption(
            "The interpreter adds in fp32. Tensor cores keep fewer bits: the kernel's share is larger there."
        )
    if row.prediction:
        st.write(words.prediction_sentence(row.prediction))
        st.page_link("pages/accumulation.py", label="How the tensor core adds", icon=":material/functions:")
    if row.error_note:
        st.caption(f"To keep the fp64 check short: {plain(row.error_note)}.")


def _draw_map(row: Row, key: str) -> None:
    matmul = row.job.matmul_data
    spec = error_map(
        row.error_map,
        (row.job.m, row.job.n),
        [(w.m, w.n, w.truth, w.result) for w in row.worst],
        m=f"m ({matmul.m.value})",
        n=f"n ({matmul.n.value})",
    )
    peak = max(max(band) for band in row.error_map if band)
    st.markdown(f"**Where in {matmul.d.value} the largest errors sit**; the rings are the worst elements")
    draw_chart(
        spec,
        key=f"{key} errors",
        alt=f"Heatmap of {matmul.d.value}: largest error {words.percent(peak)} of its rms",
    )


def _draw_time(row: Row, key: str) -> None:
    if row.gemm is None:
        st.write(f"**Speed**: {plain(row.peer_note or 'not timed')}.")
        return
    with st.container(horizontal=True):
        low, high = words.duration(row.gemm.p20_us), words.duration(row.gemm.p80_us)
        spread = f"Median of {row.gemm.runs} runs; 20th percentile {low}, 80th {high}."
        st.metric("Time", words.duration(row.gemm.median_us), help=spread, width=110)
        st.metric("TFLOP/s", words.number(row.tflop_s), help="2 · M · N · K / time.", width=110)
        st.metric("GB/s", words.number(row.gb_s), help="Codes, scales and D, once each, / time.", width=110)
        st.metric("× bf16", words.ratio(row.times_bf16), help="Times faster than bf16 torch.mm.", width=100)
        st.metric("× bf16, in all", words.ratio(row.times_bf16_with_quantize), help=_ALL_IN, width=120)
        st.metric("× torch", words.ratio(row.times_torch_scaled), help=_TORCH, width=100)
        if row.simple is not None:
            st.metric("× simple", words.ratio(row.times_simple), help=_SIMPLE, width=100)
        if row.dot_scaled is not None:
            st.metric("× dot_scaled", words.ratio(row.times_dot_scaled), help=_DOT_SCALED, width=130)
    st.write(_time_sentence(row))
    if how := words.timing_sentence(row):
        st.caption(how)
    field = contenders(row)
    alt_text = "; ".join(f"{c.name}: {words.duration(c.median_us)}" for c in field)
    draw_chart(timings(field), key=f"{key} times", alt=f"Bars of time. {alt_text}")


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

    def contender(name: str, timing: Timing, quantize: Timing | None = None) -> Contender:
        return Contender(
            name=name,
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
    with st.expander("Worst elements, machine and versions"):
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
