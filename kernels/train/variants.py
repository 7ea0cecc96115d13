"""Changes of a recipe or of a run: some break the run, some show nothing at this size.

Each is data: a published recipe with a field replaced, or a switch of the run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, LayerTensor, Matmul, Side
from fp8core.recipes import RECIPES, MatmulSpec, OperandSpec, Recipe
from fp8core.recipes.recipe import Family
from fp8core.recipes.short import FAST
from fp8core.recipes.text import OWN_NAME, to_text
from fp8core.rounding import Rounding
from fp8core.scales import E8M0_FLOOR, FP32_SCALE
from fp8core.tiles import WHOLE, TileShape
from kernels.train.job import TrainJob

Change = Callable[[OperandSpec], OperandSpec]


class Shows(Enum):
    """Expected effect on the loss of a small model."""

    BREAKS = "breaks"
    NOTHING = "shows nothing"


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A run (`job`) that differs from another (`beside`) in one thing.

    assets/loss.toml has the reason, and who saw it at scale.
    """

    name: str
    title: str
    shows: Shows
    job: TrainJob
    beside: TrainJob


def _own(recipe: Recipe, title: str, **specs: MatmulSpec) -> Recipe:
    return replace(recipe, name=OWN_NAME, title=title, family=Family.OWN, remark="", **specs)


def _changed(recipe: Recipe, title: str, operands: Sequence[tuple[Matmul, Side]], change: Change) -> Recipe:
    specs = {}
    for name, matmul in MATMULS.items():
        spec = recipe.spec(matmul)
        sides = [side for each, side in operands if each is matmul]
        specs[name] = replace(spec, **{side.value.lower(): change(spec.operand(side)) for side in sides})
    return _own(recipe, title, **specs)


_ALL = tuple(product(MATMULS.values(), Side))
_FPROP, _WGRAD = _ALL[:2], _ALL[4:]
_GRADIENTS = tuple((matmul, side) for matmul, side in _ALL if matmul.operand(side) is LayerTensor.DY)


def _unscaled(spec: OperandSpec) -> OperandSpec:
    """A scale of at least 1: amax counts as the largest code at least."""
    return replace(spec, scale_rule=replace(spec.scale_rule, amax_floor=spec.format.max))


def _random(spec: OperandSpec) -> OperandSpec:
    return replace(spec, rounding=Rounding.STOCHASTIC)


def _one_scale(spec: OperandSpec) -> OperandSpec:
    return replace(
        spec, format=FORMATS["e2m1"], tile=TileShape(WHOLE, WHOLE), scale_rule=FP32_SCALE, rotation=None
    )


def _floor(spec: OperandSpec) -> OperandSpec:
    return replace(spec, scale_rule=E8M0_FLOOR)


def _unrotated(spec: OperandSpec) -> OperandSpec:
    return replace(spec, rotation=None)


def _run(recipe: Recipe | str, **switches: bool) -> TrainJob:
    return TrainJob(recipe=recipe if isinstance(recipe, str) else to_text(recipe), **switches)


_HYBRID, _E4M3 = RECIPES["per_tensor"], RECIPES["per_tensor_e4m3"]
_NVFP4, _MXFP4 = RECIPES["nvfp4"], RECIPES["mxfp4"]
_ALL_FAST = _own(
    _HYBRID,
    "Per tensor, all fast",
    dgrad=replace(_HYBRID.dgrad, accumulator=FAST),
    wgrad=replace(_HYBRID.wgrad, accumulator=FAST),
)

VARIANTS = {
    variant.name: variant
    for variant in (
        Variant(
            name="unscaled_gradients",
            title="Gradients without a scale",
            shows=Shows.BREAKS,
            job=_run(_changed(_E4M3, "Unscaled gradients", _GRADIENTS, _unscaled)),
            beside=_run("per_tensor_e4m3"),
        ),
        Variant(
            name="stochastic_fprop",
            title="Stochastic rounding in Fprop",
            shows=Shows.BREAKS,
            job=_run(_changed(_NVFP4, "NVFP4, random Fprop", _FPROP, _random)),
            beside=_run("nvfp4"),
        ),
        Variant(
            name="one_scale_e2m1",
            title="One scale a tensor for e2m1",
            shows=Shows.BREAKS,
            job=_run(_changed(_HYBRID, "e2m1, one scale", _ALL, _one_scale)),
            beside=_run("nvfp4"),
        ),
        Variant(
            name="head_in_four_bits",
            title="Four bits in the head and the last block",
            shows=Shows.BREAKS,
            job=_run("nvfp4", head=True),
            beside=_run("nvfp4", last_bf16=True),
        ),
        Variant(
            name="mx_floor",
            title="MX scales rounded down",
            shows=Shows.NOTHING,
            job=_run(_changed(_MXFP4, "MXFP4, floor", _ALL, _floor)),
            beside=_run("mxfp4"),
        ),
        Variant(
            name="e4m3_gradients",
            title="e4m3 for gradients, not e5m2",
            shows=Shows.NOTHING,
            job=_run("per_tensor_e4m3"),
            beside=_run("per_tensor"),
        ),
        Variant(
            name="fast_everywhere",
            title="Fast accumulation in all three matmuls",
            shows=Shows.NOTHING,
            job=_run(_ALL_FAST),
            beside=_run("per_tensor"),
        ),
        Variant(
            name="no_rotation",
            title="NVFP4 without its rotation",
            shows=Shows.NOTHING,
            job=_run(_changed(_NVFP4, "NVFP4, not rotated", _WGRAD, _unrotated)),
            beside=_run("nvfp4"),
        ),
    )
}
"""Changes by name; breaking ones come first."""
