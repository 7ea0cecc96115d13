"""Section "Compute or bandwidth": which of two times a matmul waits for, and what fewer bits change."""

from collections.abc import Mapping

import streamlit as st

from kernels.bench.ceilings.peak_rates import Rate
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.charts.words import bytes_text, count, short
from pages.kit.controls import Controls
from pages.kit.datasheet import GPU, card
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.tables.html_table import grid
from pages.kit.terms.explain import draw_text
from pages.kit.widgets import Value
from pages.sections.why.charts.roofline import Place, roofline
from pages.sections.why.controls import TOKENS, draw_shape, layer_of, values
from pages.sections.why.times import MEMORY, Bound, bounds

IDEA = (
    "A matmul must do two things: **move** its numbers from memory and back, and **multiply** them. Both run "
    "at the same time, so it takes at least the longer of the two times. Half the bits halve the bytes of x "
    "and w, and double the rate of the tensor cores. **With few tokens a weight is read for little work: "
    "memory is the limit. With many tokens it is the tensor cores.**"
)
READING = (
    "Left of the bend a matmul waits for memory, right of it for the tensor cores. The text beside each "
    "roof is its peak in TFLOP/s. Each of x, w and y moves once, y in bf16; scales are left out. Chart "
    "after S. Williams, A. Waterman, D. Patterson, Roofline, Communications of the ACM 52(4), 2009."
)
HEAD = ("operands", "bytes", "memory µs", "tensor cores µs", "at least µs", "limit", "× bf16")


def found(settings: Mapping[str, Value]) -> dict[Rate, Bound]:
    """The bounds of the page's matmul on its GPU."""
    return bounds(card(settings[GPU.key]), layer_of(settings))


def gain(settings: Mapping[str, Value], rate: Rate) -> float | None:
    """How many times as fast as bf16; None where the GPU lacks the format."""
    every = found(settings)
    return every[Rate.BF16].us / every[rate].us if rate in every else None


def picture(settings: Mapping[str, Value], theme: str) -> Filled:
    """The roofs and the matmul's places."""
    places = [
        Place(
            format=rate.value,
            peak_tflop_s=one.peak_tflop_s,
            intensity=one.intensity,
            tflop_s=one.tflop_s,
            limit=one.limit,
        )
        for rate, one in found(settings).items()
    ]
    return roofline(places, card(settings[GPU.key]).memory_gb_s, INKS[theme])


def notice(settings: Mapping[str, Value]) -> str:
    """What limits bf16 and fp8, and the gain."""
    every, layer = found(settings), layer_of(settings)
    bf16, fp8 = every[Rate.BF16], every.get(Rate.FP8)
    start = f"**Notice:** with {count(layer.tokens, 'token')}, bf16 is limited by {_the(bf16)}"
    if fp8 is None:
        return f"{start}. {card(settings[GPU.key]).name} has no fp8 tensor cores."
    if bf16.limit == fp8.limit == MEMORY:
        why = f"the bytes shrink to {fp8.bytes / bf16.bytes:.0%}, and the tensor cores wait as before"
    elif bf16.limit == fp8.limit:
        why = f"the tensor cores do {fp8.peak_tflop_s / bf16.peak_tflop_s:.1f} times as much"
    else:
        why = f"here the limit moves: fp8 is limited by {_the(fp8)}"
    return f"{start}. fp8 is at most {bf16.us / fp8.us:.2f} times as fast: {why}."


def _the(bound: Bound) -> str:
    return bound.limit if bound.limit == MEMORY else f"the {bound.limit}"


def table(settings: Mapping[str, Value]) -> list[tuple[str, ...]]:
    """A line a format: bytes, both times, and the gain."""
    every = found(settings)
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


def show(controls: Controls) -> None:
    """Draw the words, the roofline with the matmul, and the times."""
    draw_text(IDEA)
    row = st.container(horizontal=True)
    controls.draw(TOKENS, row.container(width=420))
    controls.draw(GPU, row.container(width=200))
    draw_shape(controls)
    settings = values(controls)
    layer = layer_of(settings)
    st.markdown(f"y = x · wᵀ with **{layer.tokens:,}** tokens, in = {layer.in_:,}, out = {layer.out:,}")
    draw_notice(notice(settings))
    draw_chart(
        picture(settings, theme()),
        key="why_bound",
        least=420,
        alt="Roofline. "
        + "; ".join(
            f"{rate.value}: {one.tflop_s:,.0f} TFLOP/s at {one.intensity:,.1f} operations a byte, limited by "
            f"{one.limit}"
            for rate, one in found(settings).items()
        ),
    )
    st.html(grid(HEAD, table(settings), INKS[theme()], held=True))
    st.caption(READING)
