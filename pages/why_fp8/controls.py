"""The controls of the page "Why FP8"."""

from collections.abc import Mapping

from fp8core.linear import LayerShape
from pages.kit.controls import Controls
from pages.kit.datasheet import GPU
from pages.kit.widgets import Choice, ChoiceStyle, NumberStyle, Value, Whole
from pages.why_fp8.decoding import BATCH, CONTEXT, MODEL, OWN_SIZES

_SIDES = (1024, 2048, 4096, 7168, 8192, 16384)

SHOW = Choice(
    key="why_show",
    label="Show",
    options={
        "bound": "Compute or bandwidth",
        "rates": "Peak rates",
        "cache": "KV cache",
        "memory": "Memory",
        "scaled": "What is scaled",
        "history": "How it came",
    },
    default="bound",
)
UNIT = Choice(
    key="why_unit",
    label="Rates as",
    options={"tflop_s": "TFLOP/s", "bf16": "Times its bf16", "first": "Times the first GPU"},
    default="tflop_s",
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
MOMENT = Choice(
    key="why_moment",
    label="What lies in memory",
    options={
        "forward": "After forward",
        "backward": "In backward",
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
    *OWN_SIZES,
    CONTEXT,
    BATCH,
    MOMENT,
    WEIGHTS,
    LOSS_SCALE,
)


def draw_shape(controls: Controls) -> None:
    """Draw the sizes of the weight."""
    for control in (IN, OUT):
        controls.draw(control)


def layer_of(settings: Mapping[str, Value]) -> LayerShape:
    """The layer that the values of TOKENS, IN and OUT describe."""
    return LayerShape(1 << settings[TOKENS.key], int(settings[IN.key]), int(settings[OUT.key]))


def values(controls: Controls) -> dict[str, Value]:
    """All values of the page by key, as facts get them."""
    return {control.key: controls.value(control) for control in ALL_CONTROLS}
