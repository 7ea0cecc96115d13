"""Section "Peak rates": the highest rates of each generation's tensor cores, by format."""

from kernels.measure.peak_rates import PEAK_RATES, PeakRates, Rate
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled
from pages.kit.charts.words import NONE, short
from pages.kit.controls import Controls
from pages.kit.tables import grid
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room
from pages.kit.widgets import Choice
from pages.why_fp8.charts.rows import MEMORY, rates_chart
from pages.why_fp8.sourced import draw_sources

FIRST = next(iter(PEAK_RATES.values()))  # the GPU whose bf16 is the measure of the last unit
UNIT = Choice(
    key="why_unit",
    label="Rates as",
    options={"tflop_s": "TFLOP/s", "bf16": "× its bf16", "first": f"× the {FIRST.name.split()[0]}"},
)
RATES = (Rate.TF32, Rate.BF16, Rate.FP8, Rate.FP4)
IDEA = (
    "A tensor core multiplies small tiles of numbers. **Half the bits of an operand, twice the products in "
    "each cycle**: narrow multipliers are smaller, so that more of them fit, and each number is fewer bytes "
    "to bring. TF32 is what fp32 inputs are cut to. These are the **dense** rates of "
    "datasheets. Datasheets often print twice as much, which holds for matrices whose zeros follow a pattern."
)
HEAD = ("GPU", "bf16 / TF32", "fp8 / bf16", "fp4 / bf16", "memory GB/s", "ridge bf16", "ridge fp8")


def show(controls: Controls) -> None:
    know = here().know
    unit = controls.draw(UNIT, here().control)
    ratios = [rate(rates, Rate.FP8, "bf16") for rates in PEAK_RATES.values()]
    low, high = (short(end(filter(None, ratios)), 2) for end in (min, max))
    draw_notice(
        "Half the bits, twice the products: each of these GPUs that has fp8 multiplies "
        f"**{low if low == high else f'{low} to {high}'} times as fast** in it as in bf16."
    )
    draw_chart(
        picture(unit, page_ink(), room()),
        key="why_rates",
        alt="Peak rates of tensor cores. fp8 over bf16: "
        + "; ".join(f"{name} {gain:.2f}" for name, gain in zip(PEAK_RATES, ratios, strict=True) if gain),
    )
    know.markdown(IDEA)
    know.html(grid(HEAD, _table(), page_ink(), is_sticky=True))
    know.markdown(
        "Ridge: operations per byte from memory, above which the tensor cores are the limit. Rates are at "
        "the boost clock. A GPU at its power limit runs slower: the page Benchmarks has measured rates."
    )
    sources = (source for rates in PEAK_RATES.values() for source in rates.sources)
    draw_sources("; ".join(dict.fromkeys(f"[{one.title}]({one.url})" for one in sources)), know)


def rate(rates: PeakRates, of: Rate, unit: str) -> float | None:
    peak = rates.tflop_s[of]
    if peak is None or unit == "tflop_s":
        return peak
    return peak / (FIRST if unit == "first" else rates).tflop_s[Rate.BF16]


def growth() -> tuple[str, float, float]:
    """The GPU of the highest bf16 rate, and its bf16 and memory rates over the first GPU's."""
    top = max(PEAK_RATES.values(), key=lambda rates: rates.tflop_s[Rate.BF16])
    return top.name, rate(top, Rate.BF16, "first"), top.memory_gb_s / FIRST.memory_gb_s


def alike() -> dict[str, PeakRates]:
    """One GPU of each set of rates, under the names of all with these rates."""
    same_rates: dict[tuple[float | None, ...], list[PeakRates]] = {}
    for rates in PEAK_RATES.values():
        same_rates.setdefault(tuple(rates.tflop_s[of] for of in RATES), []).append(rates)
    return {"/".join(one.name.split()[0] for one in same): same[0] for same in same_rates.values()}


def picture(unit: str, ink: Ink, room: int) -> Filled:
    peaks = []
    for names, rates in alike().items():
        its = {of.value: peak for of in RATES if (peak := rate(rates, of, unit)) is not None}
        if unit == "first":
            its[MEMORY] = rates.memory_gb_s / FIRST.memory_gb_s
        for what, peak in its.items():
            words = f"{float(f'{peak:.4g}'):,g}" if unit == "tflop_s" else f"{short(peak, 3)}×"
            peaks.append({"gpu": names, "what": what, "at": peak, "words": words})
    axis = {"tflop_s": "dense TFLOP/s", "bf16": "times the bf16 of the same GPU"}.get(
        unit, f"times bf16, or memory, of the {FIRST.name}"
    )
    return rates_chart(peaks, axis, room, ink)


def _table() -> list[tuple[str, ...]]:
    return [
        (
            rates.name,
            _ratio(rates, Rate.BF16, Rate.TF32),
            _ratio(rates, Rate.FP8, Rate.BF16),
            _ratio(rates, Rate.FP4, Rate.BF16),
            f"{rates.memory_gb_s:,.0f}",
            f"{rates.ridge(Rate.BF16):,.0f}",
            f"{ridge:,.0f}" if (ridge := rates.ridge(Rate.FP8)) else NONE,
        )
        for rates in PEAK_RATES.values()
    ]


def _ratio(rates: PeakRates, over: Rate, under: Rate) -> str:
    top, bottom = rates.tflop_s[over], rates.tflop_s[under]
    return f"{top / bottom:.2f}" if top and bottom else NONE
