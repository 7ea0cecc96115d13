"""The quantizers' cases of tests.kernels.compile.cases: launches of the front doors, heard and not made."""

from collections.abc import Iterator
from functools import partial

import torch

from fp8core.linear import MATMULS, LayerTensor, Side
from fp8core.recipes import RECIPES, Operand, Recipe
from fp8core.tiles import WHOLE
from kernels.check.quantizers import launch_cast
from kernels.device import HOPPER, Device
from kernels.quantize import (
    quantize,
    quantize_both,
    rms_norm_quantize,
    swiglu_backward_quantize,
    swiglu_quantize,
)
from tests.kernels.compile.cases import SEED, x
from tests.kernels.compile.heard import Case, heard

LARGE, SMALL, COMPUTED = (4096, 4096), (256, 768), (4096, 7168)
"""Shapes of x. Programs meet over the small one, where an operand asks for the whole tensor's amax."""
BROAD = ("deepseek_v3", "mxfp8", "rowwise")
"""Recipes of which each way to write copies is compiled; of others, both copies at once."""


def quantizer_cases(device: Device) -> Iterator[Case]:
    """The kernels of every operand and pair, in order of recipes; what is computed for Hopper alone; the
    cast.
    """
    operands = dict.fromkeys(
        operand
        for recipe in RECIPES.values()
        for matmul in MATMULS.values()
        for side in Side
        if (operand := recipe.operand(matmul, side)) is not None
    )
    with heard(device) as cases:
        for operand in operands:
            quantize(x(LARGE), operand, seed=seed(operand), history=history(operand))
            # Lines of fp32 that fit no block wait for a pass, on Hopper too.
            shape = LARGE if operand.spec.tile.k is WHOLE else SMALL
            quantize(x(shape, torch.float32), operand, seed=seed(operand), history=history(operand))
        for pair in dict.fromkeys(operands_of(*each) for each in every_tensor()):
            if None not in pair:
                for given in (x(LARGE), x(SMALL, torch.float32)):
                    quantize_both(given, *pair, seeds=[*map(seed, pair)], history=history(*pair))
        if device is HOPPER:
            compute_all()
        launch_cast(RECIPES["mxfp8"].fprop.a.format)
    yield from dict.fromkeys(cases)


def compute_all() -> None:
    """Launch the kernels for one copy, for both, and in bf16, of each source."""
    rows, columns = COMPUTED
    halves, weight = x((rows, 2 * columns)), torch.empty(columns, dtype=torch.bfloat16, device="meta")
    norm = partial(rms_norm_quantize, eps=1e-6)
    for run, given, tensor in (
        (swiglu_quantize, (halves,), LayerTensor.X),
        (swiglu_backward_quantize, (x(COMPUTED), halves), LayerTensor.DY),
        (norm, (x(COMPUTED), weight), LayerTensor.X),
    ):
        for name, recipe in RECIPES.items():
            along, down = operands_of(recipe, tensor)
            for pair in ((along, down), (along,), (down,)) if name in BROAD else ((along, down),):
                run(*given, pair, seeds=[*map(seed, pair)], history=history(*pair))
        run(*given, [None])


def every_tensor() -> Iterator[tuple[Recipe, LayerTensor]]:
    for recipe in RECIPES.values():
        for tensor in LayerTensor:
            yield recipe, tensor


def operands_of(recipe: Recipe, tensor: LayerTensor) -> tuple[Operand | None, Operand | None]:
    """(along the rows, down the columns): operands of the matmuls that read a tensor."""
    sides = [(matmul, matmul.side_of(tensor)) for matmul in MATMULS.values()]
    read = [recipe.operand(matmul, side) for matmul, side in sides if side is not None]
    along = next((each for each in read if each is not None and not each.k_is_rows), None)
    return along, next((each for each in read if each is not None and each.k_is_rows), None)


def seed(operand: Operand | None) -> int | None:
    return SEED if operand is not None and operand.spec.is_random else None


def history(*operands: Operand | None) -> torch.Tensor | None:
    delayed = any(each is not None and each.spec.scale_rule.history for each in operands)
    return torch.empty(16, device="meta") if delayed else None
