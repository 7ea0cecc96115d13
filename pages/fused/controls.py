"""The controls that several sections of the page "Fused quantization" share."""

from dataclasses import replace

from fp8core.linear import LayerShape
from kernels.bench.shapes import LAYER
from pages.kit.widgets import Choice

SHOW = Choice(
    key="fused_show",
    label="Show",
    options={"timeline": "Timelines", "amax": "One pass or two", "kernels": "Kernels"},
    default="timeline",
)
TOKENS = Choice(
    key="fused_tokens",
    label="Tokens",
    options={"1024": "1,024", "4096": "4,096", "16384": "16,384"},
    default=str(LAYER.tokens),
    help="Rows of x: the tokens of all sequences that the layer sees at once.",
)


def layer_of(tokens: str) -> LayerShape:
    """The layer that a value of TOKENS describes."""
    return replace(LAYER, tokens=int(tokens))
