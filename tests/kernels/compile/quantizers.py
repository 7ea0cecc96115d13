"""The quantizers' cases of tests.kernels.compile.cases: launches of the front doors, heard and not made."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib import import_module

import pytest
import torch

from fp8core.linear import MATMULS, LayerTensor, Side
from fp8core.recipes import RECIPES, Operand, Recipe
from fp8core.rounding import Rounding
from fp8core.tiles import WHOLE
from kernels.device import HOPPER, Device, DeviceKind
from kernels.quantize import (
    collect,
    launch,
    quantize,
    quantize_both,
    rms_norm_quantize,
    strips,
    swiglu_backward_quantize,
    swiglu_quantize,
)
from kernels.quantize.facts import element_facts
from tests.kernels.compile.cases import Case

LARGE, SMALL, COMPUTED = (4096, 4096), (256, 768), (4096, 7168)
"""Shapes of x. Programs meet over the small one, where an operand asks for the whole tensor's amax."""
BROAD = ("deepseek_v3", "mxfp8", "rowwise")
"""Recipes of which each way to write copies is compiled; of others, both copies at once."""
GLUON = ("strip_kernel", "panel_kernel")
TYPES = {
    torch.bfloat16: "*bf16",
    torch.float32: "*fp32",
    torch.int32: "*i32",
    torch.uint8: "*u8",
}
OPTIONS = ("enable_fp_fusion", "launch_cooperative_grid")


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
    yield from dict.fromkeys(cases)
    facts = element_facts(RECIPES["mxfp8"].fprop.a.format, Rounding.NEAREST_EVEN, DeviceKind.GPU)
    yield Case(
        name="cast",
        device=device,
        kernel="encode_kernel",
        types=(("x_ptr", "*fp32"),),
        constants=(("random_ptr", None), ("table_ptr", None), ("ELEMENT", facts), ("BLOCK", 1024)),
    )


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


@contextmanager
def heard(device: Device) -> Iterator[list[Case]]:
    """Cases of what is launched for a device that need not be here."""
    front, cases = import_module("kernels.quantize.quantize"), []

    def hear(kernel, grid, *arguments, **constants):
        cases.append(case(device, kernel, arguments, constants))

    with pytest.MonkeyPatch.context() as patch:
        for module in (collect, launch, strips):
            patch.setattr(module, "launch", hear)
        for module in (collect, launch, front):
            patch.setattr(module, "current_device", lambda: device)
        patch.setattr(front, "check_device", lambda *given: None)
        patch.setattr(front, "launching", nullcontext)
        yield cases


def case(device: Device, kernel, arguments, constants) -> Case:
    types, known = {}, {}
    for name, argument in zip(kernel.arg_names, arguments, strict=False):
        if isinstance(argument, torch.Tensor):
            types[name] = TYPES[argument.dtype]
        elif argument in (None, 1):
            known[name] = argument
        else:
            types[name] = "i64" if name.endswith("seed") else "i32"
    warps = constants.pop("num_warps")
    options = {name: constants.pop(name) for name in OPTIONS if name in constants}
    facts = {name: constants.get(name) for name in ("SOURCE", "ALONG", "DOWN")}
    copies = [name.lower() for name in ("ALONG", "DOWN") if facts[name] is not None]
    return Case(
        name=f"{facts['SOURCE'] or 'x'} {' and '.join(copies)}",
        device=device,
        kernel=kernel.__name__,
        role=f"{facts['SOURCE']} {len(copies)}",
        types=tuple(types.items()),
        constants=tuple((known | constants).items()),
        warps=warps,
        gluon=kernel.__name__ in GLUON,
        options=tuple(options.items()),
    )


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


def x(shape: tuple[int, int], dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def seed(operand: Operand | None) -> int | None:
    return 7 if operand is not None and operand.spec.is_random else None


def history(*operands: Operand | None) -> torch.Tensor | None:
    delayed = any(each is not None and each.spec.scale_rule.history for each in operands)
    return torch.empty(16, device="meta") if delayed else None
