"""Section "Compute or bandwidth": the two least times of a matmul, and the gain of fewer bits."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from fp8core.formats import FORMATS
from fp8core.linear import LayerShape, LayerTensor
from kernels.measure.peak_rates import PeakRates, Rate
from pages.kit.chart_slider import Hand, chart_with_slider, with_slider
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled
from pages.kit.charts.words import bytes_text, count, duration, short
from pages.kit.controls import Controls
from pages.kit.look.presenter import projected
from pages.kit.shared_controls import GPU, card
from pages.kit.tables import grid
from pages.kit.view import draw_notice, here, notices_wait, page_ink, room
from pages.kit.widgets import Settings
from pages.why_fp8.charts.sliders import TOKENS as SLIDER
from pages.why_fp8.charts.sliders import limits_chart
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
# The operands' format at each rate. The result is always bf16.
FORMAT_OF = {Rate.BF16: "bf16", Rate.FP8: "e4m3", Rate.FP4: "e2m1"}
MEMORY, ARITHMETIC = "memory", "tensor cores"
_US = 1e6
# Pixels between the axis and its labels, where the handle stands; a projector's picture has them free.
_AXIS = 24
# The picture's end, as a power of two, while a lesson asks for the bend.
_FEW = 6


@dataclass(frozen=True, kw_only=True)
class Bound:
    """y = x · wᵀ in one format: its bytes, and two times that no kernel beats."""

    flop: int
    bytes: int
    memory_us: float
    arithmetic_us: float

    @property
    def us(self) -> float:
        return max(self.memory_us, self.arithmetic_us)

    @property
    def limit(self) -> str:
        return MEMORY if self.memory_us > self.arithmetic_us else ARITHMETIC

    @property
    def tflop_s(self) -> float:
        return self.flop / self.us / _US


def bounds(rates: PeakRates, layer: LayerShape) -> dict[Rate, Bound]:
    """The bounds at each rate of a card. x, w and y move once; scales are left out."""
    flop = 2 * layer.tokens * layer.in_ * layer.out
    (tokens, in_), (out, _) = layer.of(LayerTensor.X), layer.of(LayerTensor.W)
    every = {}
    for rate, name in FORMAT_OF.items():
        peak = rates.tflop_s[rate]
        if peak is not None:
            bits = (tokens + out) * in_ * FORMATS[name].packed_bits
            bytes_ = (bits + tokens * out * FORMATS["bf16"].packed_bits) // 8
            every[rate] = Bound(
                flop=flop,
                bytes=bytes_,
                memory_us=bytes_ / rates.memory_gb_s / 1e3,
                arithmetic_us=flop / peak / _US,
            )
    return every


def show(controls: Controls) -> None:
    know = here().know
    case = controls.draw(GPU, here().control), controls.draw(IN), controls.draw(OUT)
    settings, tokens = controls.values(), controls.value(TOKENS)
    layer, every = layer_of(settings), bounds_of(settings)
    # A lesson asks for the bend: until the answer is locked, the picture ends before it.
    most = max(_FEW, tokens) if notices_wait() else TOKENS.high
    by_tokens, height = notices(*case), room() - (0 if projected() else _AXIS)
    draw_notice(by_tokens[tokens])
    chart_with_slider(
        controls,
        TOKENS,
        name="why_bound",
        inputs=(*case, most, page_ink()),
        at=tokens,
        spec_at=lambda start: picture(settings, start, most, page_ink(), height),
        alt_at=lambda _: (
            "Highest speed over the tokens. "
            + "; ".join(
                f"{rate.value}: {one.tflop_s:,.0f} TFLOP/s, limited by {one.limit}"
                for rate, one in every.items()
            )
        ),
        hand=Hand(label="Tokens", notices=by_tokens),
    )
    know.markdown(IDEA)
    know.markdown(f"y = x · wᵀ with {layer.tokens:,} tokens, in = {layer.in_:,}, out = {layer.out:,}:")
    rows = [
        (
            rate.value,
            bytes_text(one.bytes),
            *(short(time_us, 3) for time_us in (one.memory_us, one.arithmetic_us, one.us)),
            one.limit,
            f"{every[Rate.BF16].us / one.us:.2f}",
        )
        for rate, one in every.items()
    ]
    know.html(grid(HEAD, rows, page_ink(), is_sticky=True))
    know.caption(READING)


@lru_cache(maxsize=64)
def notices(gpu: str, in_: int, out: int) -> dict[float, str]:
    settings = {GPU.key: gpu, IN.key: in_, OUT.key: out}
    return {power: notice(settings | {TOKENS.key: power}) for power in range(TOKENS.high + 1)}


def notice(settings: Settings) -> str:
    every, times = bounds_of(settings), gain(settings)
    limit = every[Rate.BF16].limit
    who = "memory is" if limit == MEMORY else f"the {limit} are"
    start = f"With {count(layer_of(settings).tokens, 'token')}, {who} the limit"
    if times is None:
        return f"{start}. {card(settings[GPU.key]).name} has no fp8 tensor cores."
    return f"{start}: fp8 is at most **{times:.1f} times as fast** as bf16."


def bounds_of(settings: Settings) -> dict[Rate, Bound]:
    return bounds(card(settings[GPU.key]), layer_of(settings))


def gain(settings: Settings) -> float | None:
    every = bounds_of(settings)
    return every[Rate.BF16].us / every[Rate.FP8].us if Rate.FP8 in every else None


def turn(settings: Settings, rate: Rate = Rate.BF16) -> int:
    """The fewest tokens with which the tensor cores limit a format; at most those of TOKENS."""
    gpu, layer = card(settings[GPU.key]), layer_of(settings)

    def is_turned(tokens: int) -> bool:
        return bounds(gpu, replace(layer, tokens=tokens))[rate].limit == ARITHMETIC

    return 1 + bisect_left(range(1, 1 << TOKENS.high), True, key=is_turned)


def picture(settings: Settings, start: int, most: int, ink: Ink, room: int) -> Filled:
    gpu, layer = card(settings[GPU.key]), layer_of(settings)
    points = []
    for rate in bounds_of(settings):
        bend = turn(settings, rate)
        for tokens in sorted({min(bend, 1 << most), *(1 << k for k in range(most + 1))}):
            every = bounds(gpu, replace(layer, tokens=tokens))
            has_gain = rate is Rate.BF16 and Rate.FP8 in every
            points.append(
                {
                    "format": rate.value,
                    "tokens": tokens,
                    "speed": every[rate].tflop_s,
                    "limit": every[rate].limit,
                    "gain": f"{every[rate].us / every[Rate.FP8].us:.1f} ×" if has_gain else "",
                }
            )
    times = [
        row
        for power in range(most + 1)
        for row in _times(bounds(gpu, replace(layer, tokens=1 << power)), power)
    ]
    return with_slider(limits_chart(points, times, turn(settings), most, room, ink), SLIDER, start)


def _times(every: Mapping[Rate, Bound], power: int) -> list[dict[str, str | float]]:
    longest = max(one.us for one in every.values())
    speeds = ", ".join(f"{rate.value} {short(one.tflop_s, 3)}" for rate, one in every.items())
    words = f"{count(1 << power, 'token')}: at most {speeds} TFLOP/s"
    rows = []
    for rate, one in every.items():
        for us, what in ((one.memory_us, "moves"), (one.arithmetic_us, "multiplies")):
            row = {
                "power": power,
                "line": len(rows),
                "format": rate.value,
                "takes": f"{duration(us)}, {what}",
            }
            rows.append(row | {"share": us / longest, "is_longer": us == one.us, "words": words})
    return rows
