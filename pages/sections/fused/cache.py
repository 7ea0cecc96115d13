"""Section "KV cache": the other reason for fp8. Tokens a second that memory allows, over the context."""

from collections.abc import Mapping

import streamlit as st

from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.charts.words import short
from pages.kit.controls import Controls, link_params
from pages.kit.datasheet import GPU, card
from pages.kit.decoding.controls import BATCH, CONTEXT, MODEL, OWN
from pages.kit.decoding.draw import bound_words, draw_sizes
from pages.kit.decoding.steps import Step, sizes, steps
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.sourced import sourced
from pages.kit.sources import draw_sources
from pages.kit.terms.explain import draw_text
from pages.kit.widgets import Value
from pages.sections.fused.charts.tokens import tokens_chart
from pages.sections.fused.controls import values

IDEA = (
    "Training wants fp8 for the tensor cores' rate, and pays for it by quantizing. **Serving has another "
    "reason: bytes.** For each new token a server reads all weights and every sequence's KV cache. The "
    "tensor cores wait. Half the bytes are half the time, and each number is quantized only once."
)
CONTEXTS = range(min(CONTEXT.options), max(CONTEXT.options) + 1)


def at(settings: Mapping[str, Value], power: int) -> tuple[Step, ...]:
    """A step of decoding in each way with a context of 2^power tokens."""
    return steps({**settings, CONTEXT.key: power})


def picture(settings: Mapping[str, Value], theme: str) -> Filled:
    """A curve for each way over the contexts."""
    rates: dict[str, list[float]] = {}
    for power in CONTEXTS:
        for step in at(settings, power):
            rates.setdefault(step.way, []).append(step.tokens_s)
    return tokens_chart(rates, tuple(CONTEXTS), int(settings[CONTEXT.key]), INKS[theme])


def notice(settings: Mapping[str, Value]) -> str:
    """The gain of each way at the chosen context, and from where the cache weighs more than the weights."""
    bf16, cache, both = steps(settings)
    context = 1 << int(settings[CONTEXT.key])
    turn = turn_context(settings)
    heavier = (
        "The weights weigh more than the cache at every context here."
        if turn is None
        else f"From {turn:,} tokens on, the cache weighs more than the weights."
    )
    return (
        f"**Notice:** with {context:,} tokens of context, memory allows {short(bf16.tokens_s, 3)} tokens a "
        f"second in bf16, {short(cache.tokens_s, 3)} with the cache in fp8 ({_times(cache, bf16)}), and "
        f"{short(both.tokens_s, 3)} with the weights in fp8 as well ({_times(both, bf16)}). {heavier}"
    )


def _times(step: Step, bf16: Step) -> str:
    return f"{step.tokens_s / bf16.tokens_s:.2f} times"


def turn_context(settings: Mapping[str, Value]) -> int | None:
    """The shortest context whose cache weighs more than the weights in bf16; None beyond the slider's."""
    one = at(settings, 0)[0]
    turn = int(one.weight_bytes // one.cache_bytes) + 1
    return turn if turn <= 1 << CONTEXTS[-1] else None


def show(controls: Controls) -> None:
    """Draw the sizes and the curves."""
    draw_text(IDEA)
    model = draw_sizes(controls)
    settings = values(controls)
    draw_notice(notice(settings))
    now = steps(settings)
    draw_chart(
        picture(settings, theme()),
        key="fused_cache",
        alt=f"Tokens a second at most, with {1 << int(settings[CONTEXT.key]):,} tokens of context: "
        + "; ".join(f"{step.way} {step.tokens_s:,.0f}" for step in now),
    )
    gpu, found = card(str(settings[GPU.key])), sizes(settings)
    st.caption(f"{MODEL.options[model]}: {found.parameters / 1e9:.1f} billion weights. {bound_words(gpu)}")
    st.page_link(
        "pages/why_fp8.py",
        label="The bytes of one step: weights and cache",
        icon=":material/stacked_bar_chart:",
        query_params=link_params(
            why_show="cache",
            **{control.key: settings[control.key] for control in (MODEL, CONTEXT, BATCH, GPU)},
        ),
    )
    if model != OWN:
        draw_sources(sourced().models[str(model)].link)
