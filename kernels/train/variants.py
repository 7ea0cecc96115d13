"""Changes of a recipe or of a run: some break the run, some show nothing at this size.

Each is data: a published recipe with a field replaced, or a switch of the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product
from typing import Any

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, LayerTensor, Matmul, Side
from fp8core.recipes import RECIPES, MatmulSpec, Recipe
from fp8core.recipes.recipe import Family
from fp8core.recipes.short import FAST
from fp8core.recipes.text import OWN_NAME, to_text
from fp8core.rounding import Rounding
from fp8core.scales import E8M0_FLOOR, FP32_SCALE
from fp8core.tiles import WHOLE, TileShape
from kernels.train.job import TrainJob


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


def _own(recipe: Recipe, title: str, **specs: MatmulSpec) -> str:
    own = replace(recipe, name=OWN_NAME, title=title, family=Family.OWN, remark="", **specs)
    return to_text(own)


def _changed(recipe: Recipe, title: str, operands: Sequence[tuple[Matmul, Side]], **change: Any) -> str:
    specs = {}
    for name, matmul in MATMULS.items():
        spec, sides = recipe.spec(matmul), [side for each, side in operands if each is matmul]
        changed = {side.value.lower(): replace(spec.operand(side), **change) for side in sides}
        specs[name] = replace(spec, **changed)
    return _own(recipe, title, **specs)


_ALL = tuple(product(MATMULS.values(), Side))
_FPROP, _WGRAD = _ALL[:2], _ALL[4:]
_GRADIENTS = tuple((matmul, side) for matmul, side in _ALL if matmul.operand(side) is LayerTensor.DY)
_HYBRID, _E4M3 = RECIPES["per_tensor"], RECIPES["per_tensor_e4m3"]
_NVFP4, _MXFP4 = RECIPES["nvfp4"], RECIPES["mxfp4"]

_RANDOM = Rounding.STOCHASTIC
_UNSCALED = replace(_E4M3.dgrad.a.scale_rule, amax_floor=FORMATS["e4m3"].max)
"""A scale of at least 1: amax counts as the largest code at least."""
_ONE_SCALE = {"format": FORMATS["e2m1"], "tile": TileShape(WHOLE, WHOLE), "scale_rule": FP32_SCALE}
_FAST = {name: replace(getattr(_HYBRID, name), accumulator=FAST) for name in ("dgrad", "wgrad")}

VARIANTS = {
    variant.name: variant
    for variant in (
        Variant(
            name="unscaled_gradients",
            title="Gradients without a scale",
            shows=Shows.BREAKS,
            job=TrainJob(recipe=_changed(_E4M3, "Unscaled gradients", _GRADIENTS, scale_rule=_UNSCALED)),
            beside=TrainJob(recipe="per_tensor_e4m3"),
        ),
        Variant(
            name="stochastic_fprop",
            title="Stochastic rounding in Fprop",
            shows=Shows.BREAKS,
            job=TrainJob(recipe=_changed(_NVFP4, "NVFP4, random Fprop", _FPROP, rounding=_RANDOM)),
            beside=TrainJob(recipe="nvfp4"),
        ),
        Variant(
            name="one_scale_e2m1",
            title="One scale a tensor for e2m1",
            shows=Shows.BREAKS,
            job=TrainJob(recipe=_changed(_HYBRID, "e2m1, one scale", _ALL, **_ONE_SCALE)),
            beside=TrainJob(recipe="nvfp4"),
        ),
        Variant(
            name="head_in_four_bits",
            title="Four bits in the head and the last block",
            shows=Shows.BREAKS,
            job=TrainJob(recipe="nvfp4", head=True),
            beside=TrainJob(recipe="nvfp4", last_bf16=True),
        ),
        Variant(
            name="mx_floor",
            title="MX scales rounded down",
            shows=Shows.NOTHING,
            job=TrainJob(recipe=_changed(_MXFP4, "MXFP4, floor", _ALL, scale_rule=E8M0_FLOOR)),
            beside=TrainJob(recipe="mxfp4"),
        ),
        Variant(
            name="e4m3_gradients",
            title="e4m3 for gradients, not e5m2",
            shows=Shows.NOTHING,
            job=TrainJob(recipe="per_tensor_e4m3"),
            beside=TrainJob(recipe="per_tensor"),
        ),
        Variant(
            name="fast_everywhere",
            title="Fast accumulation in all three matmuls",
            shows=Shows.NOTHING,
            job=TrainJob(recipe=_own(_HYBRID, "Per tensor, all fast", **_FAST)),
            beside=TrainJob(recipe="per_tensor"),
        ),
        Variant(
            name="no_rotation",
            title="NVFP4 without its rotation",
            shows=Shows.NOTHING,
            job=TrainJob(recipe=_changed(_NVFP4, "NVFP4, not rotated", _WGRAD, rotation=None)),
            beside=TrainJob(recipe="nvfp4"),
        ),
    )
}
"""Changes by name; breaking ones come first."""
