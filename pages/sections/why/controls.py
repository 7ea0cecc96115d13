"""The controls of the page "Why FP8"."""

from collections.abc import Mapping

import streamlit as st

from fp8core.linear import LayerShape
from kernels.bench.ceilings.peak_rates import PEAK_RATES, PeakRates, peak_rates_of
from kernels.bench.records import slug
from kernels.device import HOPPER
from pages.kit.controls import Controls
from pages.kit.widgets import Choice, ChoiceStyle, NumberStyle, Value, Whole
from pages.sections.why.sourced import sourced

OWN = "own"
_SIDES = (1024, 2048, 4096, 7168, 8192, 16384)
_CARDS = {slug(rates.name): rates for rates in PEAK_RATES.values()}

SHOW = Choice(
    key="why_show",
    label="Show",
    options={
        "rates": "Peak rates",
        "bound": "Compute or bandwidth",
        "cache": "KV cache",
        "memory": "Memory",
        "scaled": "What is scaled",
        "history": "How it came here",
    },
    default="rates",
)
UNIT = Choice(
    key="why_unit",
    label="Rates as",
    options={"tflop_s": "TFLOP/s", "bf16": "Times its own bf16", "first": "Times the first GPU's bf16"},
    default="tflop_s",
)
GPU = Choice(
    key="why_gpu",
    label="GPU",
    options={key: rates.name for key, rates in _CARDS.items()},
    default=slug(peak_rates_of(HOPPER.name).name),
    style=ChoiceStyle.SELECT,
    help="Rates and bandwidth of its datasheet, dense.",
)
TOKENS = Whole(
    key="why_tokens",
    label="Tokens, as a power of two",
    low=0,
    high=17,
    default=12,
    style=NumberStyle.SLIDER,
    help="Rows of x: the tokens of all sequences that the layer sees at once.",
)
IN = Choice(
    key="why_in",
    label="in",
    options={str(side): f"{side:,}" for side in _SIDES},
    default="4096",
    style=ChoiceStyle.SELECT,
    help="The inputs of the layer: columns of x and of w.",
)
OUT = Choice(
    key="why_out",
    label="out",
    options={str(side): f"{side:,}" for side in _SIDES},
    default="4096",
    style=ChoiceStyle.SELECT,
    help="The outputs of the layer: rows of w.",
)
MODEL = Choice(
    key="why_model",
    label="Model",
    options={name: model.title for name, model in sourced().models.items()} | {OWN: "Your own sizes"},
    default="llama31_8b",
    style=ChoiceStyle.SELECT,
)
LAYERS = Whole(key="why_layers", label="Layers", low=1, high=256, default=32)
KV_HEADS = Whole(
    key="why_kv_heads",
    label="KV heads",
    low=1,
    high=256,
    default=8,
    help="Heads that keep keys and values. Several heads of queries may share one.",
)
HEAD_DIM = Whole(key="why_head_dim", label="Numbers in a head", low=16, high=512, default=128)
BILLIONS = Whole(
    key="why_billions", label="Weights, in billions", low=1, high=2000, default=8, help="Parameters."
)
CONTEXT = Whole(
    key="why_context",
    label="Context, as a power of two",
    low=7,
    high=20,
    default=13,
    style=NumberStyle.SLIDER,
    help="Tokens of a sequence so far.",
)
BATCH = Whole(
    key="why_batch",
    label="Sequences at once",
    low=1,
    high=1024,
    default=16,
    help="All of them read the same weights, and each reads a cache of its own.",
)
MOMENT = Choice(
    key="why_moment",
    label="What lies in memory",
    options={
        "forward": "After the forward pass",
        "backward": "In the backward pass",
        "inference": "Inference",
    },
    default="forward",
)
WEIGHTS = Choice(
    key="why_weights",
    label="Weights of the model",
    options={"bf16": "bf16", "fp32": "fp32", "none": "quantized only"},
    default="bf16",
    help="The copy that the optimizer's step changes, where the model itself keeps one.",
)
LOSS_SCALE = Whole(
    key="why_loss_scale",
    label="log2 of the loss scale",
    low=0,
    high=30,
    default=0,
    style=NumberStyle.SLIDER,
    help="The gradients are multiplied by it before they are rounded.",
)

ALL_CONTROLS = (
    SHOW,
    UNIT,
    GPU,
    TOKENS,
    IN,
    OUT,
    MODEL,
    LAYERS,
    KV_HEADS,
    HEAD_DIM,
    BILLIONS,
    CONTEXT,
    BATCH,
    MOMENT,
    WEIGHTS,
    LOSS_SCALE,
)
OWN_SIZES = (LAYERS, KV_HEADS, HEAD_DIM, BILLIONS)


def card(key: str) -> PeakRates:
    """The datasheet of a value of GPU."""
    return _CARDS[key]


def draw_shape(controls: Controls) -> None:
    """Draw the sizes of the weight in the sidebar."""
    for control in (IN, OUT):
        controls.draw(control, st.sidebar)


def layer_of(settings: Mapping[str, Value]) -> LayerShape:
    """The layer that the values of TOKENS, IN and OUT describe."""
    return LayerShape(1 << settings[TOKENS.key], int(settings[IN.key]), int(settings[OUT.key]))


def values(controls: Controls) -> dict[str, Value]:
    """All values of the page by key, as facts get them."""
    return {control.key: controls.value(control) for control in ALL_CONTROLS}
