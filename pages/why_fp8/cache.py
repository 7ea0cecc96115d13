"""Section "KV cache": the bytes that a token leaves behind, and the tokens per second that memory allows."""

from collections.abc import Mapping

from pages.kit.chart import draw_chart, room
from pages.kit.charts.bars import Bar, bars
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.charts.words import bytes_text, count
from pages.kit.controls import Controls
from pages.kit.datasheet import GPU, card
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.sourced import draw_sources, sourced
from pages.kit.terms.explain import draw_text
from pages.kit.view import here
from pages.kit.widgets import Value
from pages.why_fp8.controls import values
from pages.why_fp8.decoding import (
    BATCH,
    BF16,
    CONTEXT,
    FP8,
    MODEL,
    OWN,
    Step,
    bound_words,
    draw_sizes,
    sizes,
    steps,
)

WEIGHTS, CACHE = "weights", "KV cache"
NAMES = {WEIGHTS: WEIGHTS, CACHE: CACHE}
IDEA = (
    "A model that writes text makes one token at a time. Each layer keeps a **key** and a **value** of "
    "every token before: the KV cache. For the next token it reads all weights and the whole cache, and "
    "does little with each number. So **memory is the limit, and bytes are time**."
)
SERVING = (
    "[vLLM, Quantized KV Cache](https://docs.vllm.ai/en/latest/features/quantization/quantized_kvcache/)"
)


def token_bytes(settings: Mapping[str, Value], format_: str) -> float:
    """Bytes that one token keeps in the cache."""
    return sizes(settings).token_bytes(format_)


def cache_share(settings: Mapping[str, Value]) -> float:
    """The cache's share of the bytes of a step in bf16."""
    bf16 = steps(settings)[0]
    return bf16.cache_bytes / (bf16.weight_bytes + bf16.cache_bytes)


def gains(settings: Mapping[str, Value]) -> tuple[float, float]:
    """Tokens per second over those of bf16: with the cache in fp8, and with the weights in fp8 as well."""
    bf16, cache, both = (step.tokens_s for step in steps(settings))
    return cache / bf16, both / bf16


def picture(found: tuple[Step, ...], theme: str, room: int) -> Filled:
    """A bar for each way: bytes of weights, bytes of the cache, and the tokens per second."""
    lines = [
        Bar(
            name=step.way,
            pieces={WEIGHTS: step.weight_bytes / 1e9, CACHE: step.cache_bytes / 1e9},
            label=f"{step.tokens_s:,.0f} tokens/s at most",
        )
        for step in found
    ]
    axis = "GB read for one token of each sequence"
    return bars(lines, NAMES, axis, room, INKS[theme])


def notice(settings: Mapping[str, Value]) -> str:
    """What fp8 gains for the cache alone."""
    cache, _ = gains(settings)
    return (
        "Writing text, a GPU waits for bytes. The KV cache alone in fp8 allows at most "
        f"**{cache:.2f} times the tokens per second.**"
    )


def show(controls: Controls) -> None:
    """Draw the bytes of a step, and the bound on tokens per second."""
    know, model = here().know, draw_sizes(controls, here().control)
    settings = values(controls)
    found, model_sizes = steps(settings), sizes(settings)
    draw_notice(notice(settings))
    draw_chart(
        picture(found, theme(), room()),
        key="why_cache",
        is_rigid=True,
        alt="Bytes read for one token of each sequence, and tokens per second at most: "
        + "; ".join(
            f"{step.way}: {(step.weight_bytes + step.cache_bytes) / 1e9:,.1f} GB, {step.tokens_s:,.0f} "
            "tokens/s"
            for step in found
        ),
    )
    draw_text(IDEA, know)
    know.markdown(
        f"**{MODEL.options[model]}**: 2 · {model_sizes.layers} layers · {model_sizes.kv_heads} KV heads · "
        f"{model_sizes.head_dim} numbers per token, that is {bytes_text(int(token_bytes(settings, BF16)))} "
        f"in bf16 and {bytes_text(int(token_bytes(settings, FP8)))} in fp8; "
        f"{model_sizes.parameters / 1e9:.1f} billion weights. {count(settings[BATCH.key], 'sequence')} of "
        f"{1 << settings[CONTEXT.key]:,} tokens: in bf16 the cache is {cache_share(settings):.0%} of all "
        "bytes."
    )
    know.markdown(
        f"{bound_words(card(settings[GPU.key]))} Scales are left out: a tensor, or a head, has one."
    )
    draw_sources(SERVING if model == OWN else f"{sourced().models[model].link}; {SERVING}", know)
