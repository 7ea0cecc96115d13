"""Changes of a recipe or of a run that one tries: some break the run, some show nothing at this size.

Each is data: a published recipe with a field replaced, or a switch of the run. Nothing here computes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, LayerTensor, Matmul
from fp8core.recipes import RECIPES, OperandSpec, Recipe
from fp8core.recipes.recipe import Family
from fp8core.recipes.short import FAST
from fp8core.recipes.text import OWN_NAME, to_text
from fp8core.rounding import Rounding
from fp8core.scales import E8M0_FLOOR, FP32_SCALE
from fp8core.tiles import WHOLE, TileShape
from kernels.train.job import SIZES, TrainJob

Change = Callable[[OperandSpec], OperandSpec]


class Shows(Enum):
    """What a change is expected to do to the loss of a small model."""

    BREAKS = "breaks"
    NOTHING = "shows nothing"


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A run that differs from another in one thing.

    - job: the run. beside: the run that it is compared with.
    - reason: why it fails, or why nothing is seen. assets/loss.toml names who found it at scale.
    - page: the script of the page whose picture explains it, without .py.
    """

    name: str
    title: str
    shows: Shows
    job: TrainJob
    beside: TrainJob
    reason: str
    page: str


def _changed(recipe: Recipe, title: str, *changes: tuple[Matmul, LayerTensor, Change]) -> Recipe:
    """A recipe of one's own: a published one with some of its operands replaced."""
    specs = {name: recipe.spec(matmul) for name, matmul in MATMULS.items()}
    for matmul, tensor, change in changes:
        side = matmul.side_of(tensor)
        old = side and specs[matmul.name].operand(side)
        if side is None or old is None:
            raise ValueError(f"{matmul.title} of {recipe.title} has no quantized {tensor.value}")
        specs[matmul.name] = replace(specs[matmul.name], **{side.value.lower(): change(old)})
    return replace(
        recipe, name=OWN_NAME, title=title, family=Family.OWN, source=recipe.source, remark="", **specs
    )


_FPROP, _DGRAD, _WGRAD = MATMULS.values()
_X, _W, _DY = LayerTensor.X, LayerTensor.W, LayerTensor.DY
_GRADIENTS = ((_DGRAD, _DY), (_WGRAD, _DY))
_ALL = ((_FPROP, _X), (_FPROP, _W), (_DGRAD, _DY), (_DGRAD, _W), (_WGRAD, _DY), (_WGRAD, _X))


def _each(places: tuple[tuple[Matmul, LayerTensor], ...], change: Change) -> list:
    return [(matmul, tensor, change) for matmul, tensor in places]


def _unscaled(spec: OperandSpec) -> OperandSpec:
    """A scale of 1 for every tensor whose amax is a code: amax counts as the largest code at least."""
    return replace(spec, scale_rule=replace(spec.scale_rule, amax_floor=spec.format.max))


def _random(spec: OperandSpec) -> OperandSpec:
    return replace(spec, rounding=Rounding.STOCHASTIC)


def _one_scale(spec: OperandSpec) -> OperandSpec:
    return replace(
        spec, format=FORMATS["e2m1"], tile=TileShape(WHOLE, WHOLE), scale_rule=FP32_SCALE, rotation=None
    )


def _floor(spec: OperandSpec) -> OperandSpec:
    return replace(spec, scale_rule=E8M0_FLOOR)


def _plain(spec: OperandSpec) -> OperandSpec:
    return replace(spec, rotation=None)


def _unrotated(recipe: Recipe, title: str) -> Recipe:
    """Both operands of a matmul lose their rotation in one go."""
    wgrad = replace(recipe.wgrad, a=_plain(recipe.wgrad.a), b=_plain(recipe.wgrad.b))
    return replace(recipe, name=OWN_NAME, title=title, family=Family.OWN, remark="", wgrad=wgrad)


def _run(recipe: Recipe | str, **switches: bool) -> TrainJob:
    return TrainJob(recipe=recipe if isinstance(recipe, str) else to_text(recipe), **switches)


_HYBRID, _E4M3 = RECIPES["per_tensor"], RECIPES["per_tensor_e4m3"]
_NVFP4, _MXFP4 = RECIPES["nvfp4"], RECIPES["mxfp4"]
_ALL_FAST = replace(
    _HYBRID,
    name=OWN_NAME,
    title="Per tensor, all fast",
    family=Family.OWN,
    remark="",
    dgrad=replace(_HYBRID.dgrad, accumulator=FAST),
    wgrad=replace(_HYBRID.wgrad, accumulator=FAST),
)
_E2M1 = FORMATS["e2m1"]
_S = SIZES["s"]
_LENGTHS = [width for shape in _S.block_linears.values() for width in shape]
"""K of Fprop and Dgrad: features that a layer reads, and those that it writes."""

VARIANTS = {
    variant.name: variant
    for variant in (
        Variant(
            name="unscaled_gradients",
            title="Gradients without a scale",
            shows=Shows.BREAKS,
            job=_run(_changed(_E4M3, "Unscaled gradients", *_each(_GRADIENTS, _unscaled))),
            beside=_run("per_tensor_e4m3"),
            reason="The loss is a mean over all tokens, so that gradients are small: they round to zero. "
            "Then none is left for the layers before. The embedding and the head still learn.",
            page="scaling",
        ),
        Variant(
            name="stochastic_fprop",
            title="Stochastic rounding in Fprop",
            shows=Shows.BREAKS,
            job=_run(_changed(_NVFP4, "NVFP4, random Fprop", *_each(_ALL[:2], _random))),
            beside=_run("nvfp4"),
            reason="Random rounding is right on average and errs more each time. A gradient averages over "
            "steps; activations go through nonlinear functions in the same step, and their noise stays.",
            page="stochastic_rounding",
        ),
        Variant(
            name="one_scale_e2m1",
            title="One scale a tensor for e2m1",
            shows=Shows.BREAKS,
            job=_run(_changed(_HYBRID, "e2m1, one scale", *_each(_ALL, _one_scale))),
            beside=_run("nvfp4"),
            reason=f"e2m1 spans a factor of {_E2M1.max / _E2M1.min_subnormal:g} from its smallest number to "
            "its largest. The largest element sets the scale of the whole tensor. Gradients spread "
            "widest, so most of theirs round to zero.",
            page="outliers",
        ),
        Variant(
            name="head_in_four_bits",
            title="Four bits in the head and the last block",
            shows=Shows.BREAKS,
            job=_run("nvfp4", head=True),
            beside=_run("nvfp4", last_bf16=True),
            reason="The gradient of the logits is a probability for each byte, less 1 at the true one. "
            "Some are large; many are so small that they round to zero. All layers learn from the rest.",
            page="outliers",
        ),
        Variant(
            name="mx_floor",
            title="MX scales rounded down",
            shows=Shows.NOTHING,
            job=_run(_changed(_MXFP4, "MXFP4, floor", *_each(_ALL, _floor))),
            beside=_run("mxfp4"),
            reason="A scale that is rounded down leaves the largest element of some tiles beyond the last "
            "code, where it is clipped; the others of these tiles get steps half as wide. The one costs, the "
            "other gains; the runs weigh them.",
            page="scaling",
        ),
        Variant(
            name="e4m3_gradients",
            title="e4m3 for gradients, not e5m2",
            shows=Shows.NOTHING,
            job=_run("per_tensor_e4m3"),
            beside=_run("per_tensor"),
            reason="With a scale for each tensor and step, gradients of a small model fit either range.",
            page="formats",
        ),
        Variant(
            name="fast_everywhere",
            title="Fast accumulation in all three matmuls",
            shows=Shows.NOTHING,
            job=_run(_ALL_FAST),
            beside=_run("per_tensor"),
            reason=f"In Fprop and Dgrad of the model S, sums run over {min(_LENGTHS):,} to {max(_LENGTHS):,} "
            "numbers: they lose little in the tensor core's short accumulator. Only Wgrad's are long here, "
            f"over {_S.bytes_per_step:,} tokens.",
            page="accumulation",
        ),
        Variant(
            name="no_rotation",
            title="NVFP4 without its rotation",
            shows=Shows.NOTHING,
            job=_run(_unrotated(_NVFP4, "NVFP4, not rotated")),
            beside=_run("nvfp4"),
            reason="A rotation spreads outliers, and a small model has few.",
            page="rotations",
        ),
    )
}
"""All changes, by name: those that break first."""
