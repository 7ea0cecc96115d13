"""Section "Compute or bandwidth": the two times that a matmul takes at least, and the gain of fewer bits."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace

from fp8core.formats import FORMATS
from fp8core.linear import LayerShape, LayerTensor
from kernels.bench.ceilings.peak_rates import PeakRates, Rate
from pages.kit.chart import room
from pages.kit.chart_slider import TALL as SLIDER_TALL
from pages.kit.chart_slider import chart_with_slider, with_slider
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.charts.words import bytes_text, count, short
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice, notices_wait
from pages.kit.shared_controls import GPU, card
from pages.kit.shell import theme
from pages.kit.tables import grid
from pages.kit.terms.explain import draw_text
from pages.kit.view import here
from pages.kit.widgets import Value
from pages.why_fp8.charts.sliders import TOKENS as SLIDER
from pages.why_fp8.charts.sliders import Point, limits_chart
from pages.why_fp8.controls import IN, OUT, TOKENS, layer_of

IDEA = (
    "A matmul must do two things: **move** its numbers from memory and back, and **multiply** them. Both run "
    "at the same time, so it takes at least the longer of the two times. Half the bits halve the bytes of x "
    "and w, and double the rate of the tensor cores. **With few tokens a weight is read for little work: "
    "memory is the limit. With many tokens it is the tensor cores.**"
)
READING = (
    "Each of x, w and y moves once, y in bf16. Scales are left out. Over operations per byte these lines are "
    "the roofline of S. Williams, A. Waterman, D. Patterson, Communications of the ACM 52(4), 2009."
)
HEAD = ("operands", "bytes", "memory µs", "tensor cores µs", "at least µs", "limit", "× bf16")
FORMAT_OF = {Rate.BF16: "bf16", Rate.FP8: "e4m3", Rate.FP4: "e2m1"}
"""The operands' format at each rate. The result is bf16 at every rate."""
MEMORY, ARITHMETIC = "memory", "tensor cores"
_US = 1e6
_FEW = 6
"""The picture's end, as a power of two, while a lesson asks for the bend."""


@dataclass(frozen=True, kw_only=True)
class Bound:
    """y = x · wᵀ with operands of one format: the bytes that move, and two times that no kernel beats."""

    flop: int
    bytes: int
    memory_us: float
    arithmetic_us: float

    @property
    def us(self) -> float:
        """The least time: the longer of the two."""
        return max(self.memory_us, self.arithmetic_us)

    @property
    def limit(self) -> str:
        return MEMORY if self.memory_us > self.arithmetic_us else ARITHMETIC

    @property
    def tflop_s(self) -> float:
        """The highest speed."""
        return self.flop / self.us / _US


def bounds(rates: PeakRates, layer: LayerShape) -> dict[Rate, Bound]:
    """The bounds at each rate that a card's tensor cores have. x, w and y move once; scales are left out."""
    flop = 2 * layer.tokens * layer.in_ * layer.out
    (tokens, in_), (out, _) = layer.of(LayerTensor.X), layer.of(LayerTensor.W)
    every = {}
    for rate, name in FORMAT_OF.items():
        peak = rates.tflop_s[rate]
        if peak is not None:
            bits = (tokens + out) * in_ * FORMATS[name].packed_bits
            moved = (bits + tokens * out * FORMATS["bf16"].packed_bits) // 8
            every[rate] = Bound(
                flop=flop,
                bytes=moved,
                memory_us=moved / rates.memory_gb_s / 1e3,
                arithmetic_us=flop / peak / _US,
            )
    return every


def show(controls: Controls) -> None:
    """Draw the speeds with the matmul, and its times."""
    know = here().know
    controls.draw(GPU, here().control)
    for control in (IN, OUT):
        controls.draw(control)
    settings, tokens = controls.values(), controls.value(TOKENS)
    fixed = tuple(settings[control.key] for control in (GPU, IN, OUT))
    # The bend is what a lesson asks for: until the answer is locked, the picture ends before it.
    most = max(_FEW, tokens) if notices_wait() else TOKENS.high
    draw_notice(notice(settings))
    chart_with_slider(
        controls,
        TOKENS,
        name="why_bound",
        is_rigid=True,
        drawn=(fixed, most, theme()),
        at=tokens,
        spec_at=lambda start: picture(settings, start, most, theme(), room() - SLIDER_TALL),
        alt_at=lambda _: (
            "Highest speed over the tokens. "
            + "; ".join(
                f"{rate.value}: {one.tflop_s:,.0f} TFLOP/s, limited by {one.limit}"
                for rate, one in bounds_of(settings).items()
            )
        ),
    )
    draw_text(IDEA, know)
    layer = layer_of(settings)
    know.markdown(f"y = x · wᵀ with {layer.tokens:,} tokens, in = {layer.in_:,}, out = {layer.out:,}:")
    know.html(grid(HEAD, table(settings), INKS[theme()], held=True))
    know.caption(READING)


def bounds_of(settings: Mapping[str, Value]) -> dict[Rate, Bound]:
    """The bounds of the page's matmul on its GPU."""
    return bounds(card(settings[GPU.key]), layer_of(settings))


def gain(settings: Mapping[str, Value], rate: Rate) -> float | None:
    """How many times as fast as bf16; None where the GPU lacks the format."""
    every = bounds_of(settings)
    return every[Rate.BF16].us / every[rate].us if rate in every else None


def turn(settings: Mapping[str, Value], rate: Rate = Rate.BF16) -> int:
    """The fewest tokens with which the tensor cores limit a format, not memory; at most those of TOKENS."""
    gpu, layer = card(settings[GPU.key]), layer_of(settings)

    def is_turned(tokens: int) -> bool:
        return bounds(gpu, replace(layer, tokens=tokens))[rate].limit == ARITHMETIC

    return 1 + bisect_left(range(1, 1 << TOKENS.high), True, key=is_turned)


def picture(settings: Mapping[str, Value], start: int, most: int, theme: str, room: int) -> Filled:
    """The highest speeds for up to 2**most tokens; the slider begins at `start`."""
    gpu, layer = card(settings[GPU.key]), layer_of(settings)
    points = []
    for rate in bounds_of(settings):
        turned = turn(settings, rate)
        for tokens in sorted({min(turned, 1 << most), *(1 << k for k in range(most + 1))}):
            every = bounds(gpu, replace(layer, tokens=tokens))
            gains = rate is Rate.BF16 and Rate.FP8 in every
            points.append(
                Point(
                    format=rate.value,
                    tokens=tokens,
                    tflop_s=every[rate].tflop_s,
                    limit=every[rate].limit,
                    gain=every[rate].us / every[Rate.FP8].us if gains else None,
                )
            )
    return with_slider(limits_chart(points, turn(settings), most, room, INKS[theme]), SLIDER, start)


def notice(settings: Mapping[str, Value]) -> str:
    """The limit of bf16, and the gain of fp8."""
    limit, times = bounds_of(settings)[Rate.BF16].limit, gain(settings, Rate.FP8)
    who = "memory is" if limit == MEMORY else f"the {limit} are"
    start = f"With {count(layer_of(settings).tokens, 'token')}, {who} the limit."
    if times is None:
        return f"{start} {card(settings[GPU.key]).name} has no fp8 tensor cores."
    return f"{start} In fp8 this matmul is at most **{times:.1f} times as fast** as in bf16."


def table(settings: Mapping[str, Value]) -> list[tuple[str, ...]]:
    """A line a format: bytes, both times, and the gain."""
    every = bounds_of(settings)
    return [
        (
            rate.value,
            bytes_text(one.bytes),
            short(one.memory_us, 3),
            short(one.arithmetic_us, 3),
            short(one.us, 3),
            one.limit,
            f"{every[Rate.BF16].us / one.us:.2f}",
        )
        for rate, one in every.items()
    ]
