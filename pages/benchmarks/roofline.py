"""Section "Roofline": speed against the GPU's limits, memory and tensor cores."""

from collections.abc import Sequence

import streamlit as st

from kernels.gemm.numerics import Summation
from kernels.measure.jobs import Cache, CeilingsJob
from kernels.measure.peak_rates import PeakRates, Rate, peak_rates_of
from kernels.measure.rows import Ceilings, Peer
from pages.benchmarks import data
from pages.benchmarks.charts.points import Point, Roof, roofline
from pages.benchmarks.controls import CACHE, FAMILY
from pages.kit.controls import Controls
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.gemm.results import Origin, Result
from pages.kit.look.presenter import projected
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room

NO_CEILINGS = (
    "No ceilings of this GPU are measured yet, so only datasheet lines are drawn. On that GPU, the button "
    "below measures them, and `python -m kernels.measure ceilings --record` keeps them."
)


def show(controls: Controls, gpu: str) -> None:
    know, family = here().know, controls.draw(FAMILY, here().control)
    cache = Cache(controls.draw(CACHE))
    results = data.of_family(data.results(gpu), family)
    gemms = [result for result in results if result.row.job.cache is cache]
    ceilings = newest_ceilings(gpu)
    rates = peak_rates_of(data.name_of(gpu))
    roofs = [*(measured_roofs(ceilings) if ceilings else ()), *(datasheet_roofs(rates) if rates else ())]
    if gemms:
        draw_notice(notice(gemms, ceilings))
    else:
        st.info(f"No GEMM is recorded with {cache.value} L2 on this GPU yet.")
    if gemms or roofs:
        draw_chart(
            roofline([point(one) for one in gemms], roofs, room(), page_ink(), is_aside=projected()),
            key="benchmarks_roofline",
            alt=f"TFLOP/s over operations per byte, {len(gemms)} GEMMs. "
            + "; ".join(f"{roof.label}: {roof.tflop_s:,.0f} TFLOP/s" for roof in roofs),
        )
        know.markdown(READING)
        if gemms:
            know.caption(data.origin_sentence(gemms))
    if ceilings is None:
        know.info(NO_CEILINGS)
    data.draw_run(CeilingsJob(), "Measure this GPU's ceilings")


READING = (
    "Left, along a slope, a GEMM waits for memory: it does few operations for each byte it must read or "
    "write. Right, below a flat line, it waits for the tensor cores. Solid: measured with torch's own copy "
    "and matmuls, hot. Dashed: datasheets, at the boost clock; Peak rates on the page Why FP8 has their "
    "figures and sources. Click a name to see its points alone. The chart follows S. Williams, A. Waterman, "
    "D. Patterson, Roofline, Communications of the ACM 52(4), 2009."
)


def newest_ceilings(gpu: str) -> Ceilings | None:
    """The newest ceilings of a GPU, of this session before recorded ones."""
    newest_first = (*gpu_queue.session().rows_of(Ceilings), *reversed(data.every_ceilings()))
    return next((one for one in newest_first if data.is_of(one.machine, gpu)), None)


def measured_roofs(ceilings: Ceilings) -> list[Roof]:
    """A roof for bf16, and for fp8 if torch multiplies it on that GPU."""
    peaks = {Rate.FP8: Peer.FP8, Rate.BF16: Peer.BF16}
    copy_gb_s = ceilings.rate(Peer.COPY)
    versions = ceilings.machine.versions
    where = ", ".join([ceilings.machine.name, ceilings.date, *(f"{n} {v}" for n, v in versions.items())])
    return [
        Roof(
            label=f"{rate.value} measured",
            gpu=ceilings.machine.name,
            memory_gb_s=copy_gb_s,
            tflop_s=ceilings.rate(peak),
            is_measured=True,
            source=f"torch on {where}; copy {copy_gb_s:,.0f} GB/s; "
            f"{data.clocks(ceilings.times[peak].clock_mhz, ceilings.times[peak].power_w)}",
        )
        for rate, peak in peaks.items()
        if peak in ceilings.times
    ]


def datasheet_roofs(rates: PeakRates) -> list[Roof]:
    sources = "; ".join(source.title for source in rates.sources)
    return [
        Roof(
            label=f"{rate.value} datasheet",
            gpu=rates.name,
            memory_gb_s=rates.memory_gb_s,
            tflop_s=rates.tflop_s[rate],
            is_measured=False,
            source=f"{sources}; memory {rates.memory_gb_s:,.0f} GB/s",
        )
        for rate in (Rate.FP8, Rate.BF16)
        if rates.tflop_s[rate] is not None
    ]


def point(result: Result) -> Point:
    row = result.row
    return Point(
        series=row.job.recipe_data.title + ", refolded" * (row.job.accumulation is Summation.REFOLDED),
        recipe=row.job.recipe,
        is_here=result.origin is Origin.HERE,
        intensity=row.job.flop / row.bytes,
        speed=row.tflop_s,
        words=result.words,
    )


def notice(gemms: Sequence[Result], ceilings: Ceilings | None) -> str:
    fastest = max(gemms, key=lambda result: result.row.tflop_s).row
    speed = f"{fastest.tflop_s:,.0f} TFLOP/s"
    if ceilings and Peer.FP8 in ceilings.times:
        speed = f"{fastest.tflop_s / ceilings.rate(Peer.FP8):.0%} of torch's best fp8 speed"
    words = f"The fastest, {data.contender(fastest.job)}, reaches **{speed}** here."
    if ceilings is None:
        return words
    ridge = max(roof.ridge for roof in measured_roofs(ceilings))
    bound = sum(result.row.job.flop / result.row.bytes < ridge for result in gemms)
    if not bound:
        return f"{words} The tensor cores limit all of them."
    return f"{words} Memory limits {bound} of {len(gemms)}: they lie left of the ridge."
