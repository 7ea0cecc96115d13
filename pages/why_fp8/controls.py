"""The controls that several sections of the page "Why FP8" share."""

from fp8core.linear import LayerShape
from pages.kit.widgets import Choice, NumberStyle, Select, Settings, Whole
from pages.why_fp8.sourced import Model, sourced

_SIDES = {str(side): f"{side:,}" for side in (1024, 2048, 4096, 7168, 8192, 16384)}

SHOW = Choice(
    key="why_show",
    label="Show",
    options={
        "bound": "Compute or bandwidth",
        "rates": "Peak rates",
        "memory": "Memory",
        "scaled": "What is scaled",
        "history": "History",
    },
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
IN = Select(
    key="why_in",
    label="in",
    options=_SIDES,
    default="4096",
    help="The inputs of the layer: columns of x and of w.",
)
OUT = Select(
    key="why_out",
    label="out",
    options=_SIDES,
    default="4096",
    help="The outputs of the layer: rows of w.",
)
MODEL = Select(
    key="why_model",
    label="Model",
    options={name: model.title for name, model in sourced().models.items()},
    default="llama31_8b",
    moved={"own": "llama31_8b"},
)
CONTEXT = Select(
    key="why_context",
    label="Context",
    options={k: f"{1 << k:,} tokens" for k in range(7, 21)},
    default=13,
    help="Tokens of a sequence so far.",
)


def layer_of(settings: Settings) -> LayerShape:
    return LayerShape(1 << settings[TOKENS.key], int(settings[IN.key]), int(settings[OUT.key]))


def model_of(settings: Settings) -> Model:
    return sourced().models[settings[MODEL.key]]


def context_of(settings: Settings) -> int:
    return 1 << settings[CONTEXT.key]
