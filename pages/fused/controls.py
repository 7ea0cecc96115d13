"""The controls of the page "Fused quantization"."""

from dataclasses import replace

from fp8core.linear import OPERANDS, LayerShape, LayerTensor
from kernels.bench.quantizers import QuantizerKernel
from kernels.bench.shapes import LAYER
from kernels.layer.timeline.job import Block, TimelineJob, Way
from pages.kit.datasheet import GPU
from pages.kit.recipes import RECIPE_CONTROLS
from pages.kit.widgets import Choice, ChoiceStyle

KERNELS = "kernels"
SHOW = Choice(
    key="fused_show",
    label="Show",
    options={
        "timeline": "Timelines",
        "amax": "One pass or two",
        KERNELS: "Kernels",
    },
    default="timeline",
)
BLOCK = Choice(
    key="fused_block",
    label="Layers",
    options={Block.LINEAR.value: "Linear layer", Block.MLP.value: "SwiGLU MLP"},
    default=Block.MLP.value,
    help="**SwiGLU MLP**: gate, up and down matmuls with SwiGLU between them, as in a Llama block.",
)
TOKENS = Choice(
    key="fused_tokens",
    label="Tokens",
    options={"1024": "1,024", "4096": "4,096", "16384": "16,384"},
    default=str(LAYER.tokens),
    help="Rows of x: the tokens of all sequences that the layer sees at once.",
)
WAY_NAMES = {
    Way.BF16.value: "bf16",
    Way.NAIVE.value: "naive",
    Way.COMPILED.value: "compiled",
    Way.OURS.value: "fused",
    Way.OURS_KEPT.value: "fused, w kept",
    Way.BOUND.value: "free casts",
}
"""A word or two for each way, in the order of the picture."""
WAY_TOLD = {
    Way.BF16.value: "no quantizing",
    Way.NAIVE.value: "torch, op by op",
    Way.COMPILED.value: "torch.compile",
    Way.OURS.value: "quantized on the way out",
    Way.OURS_KEPT.value: "w is quantized once",
    Way.BOUND.value: "if quantizing took no time",
}
"""What each way does."""
WAY = Choice(key="fused_way", label="Way", options=WAY_NAMES, default=Way.OURS.value)
TENSOR = Choice(
    key="fused_tensor",
    label="Tensor",
    options={tensor.value: tensor.value for tensor in OPERANDS},
    default=LayerTensor.X.value,
    help="Each is read by two of the layer's three matmuls.",
)

KERNEL = Choice(
    key="fused_kernel",
    label="Kernel",
    options={kernel.value: kernel.title for kernel in QuantizerKernel},
    default=QuantizerKernel.QUANTIZE.value,
    style=ChoiceStyle.SELECT,
)

ALL_CONTROLS = (
    SHOW,
    *RECIPE_CONTROLS,
    BLOCK,
    TOKENS,
    WAY,
    TENSOR,
    KERNEL,
    GPU,
)


def layer_of(tokens: str) -> LayerShape:
    """The layer that a value of TOKENS describes."""
    return replace(LAYER, tokens=int(tokens))


def job_of(recipe: str, block: str, tokens: str) -> TimelineJob:
    """The step that a recipe's name and values of BLOCK and TOKENS describe."""
    layer = layer_of(tokens)
    return TimelineJob(block=Block(block), recipe=recipe, tokens=layer.tokens, in_=layer.in_, out=layer.out)
