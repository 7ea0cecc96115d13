"""What tests.kernels.compile.plans compiles: kernels and their compile-time arguments, for GPUs that need not
be here.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Literal

import torch

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES, Operand, OperandSpec
from fp8core.tiles import WHOLE
from kernels.device import ADA, BLACKWELL, BLACKWELL_RTX, HOPPER, Device, DeviceKind
from kernels.gemm.blackwell import scale_blocks
from kernels.gemm.block_scaled import NativeKind, candidates, kind_of, scaled_core
from kernels.gemm.blocks import Variant
from kernels.gemm.launch import launch, torch_dtype
from kernels.gemm.numerics import Arithmetic, Numerics, ScaleAt, Summation
from kernels.gemm.passes.dequantize import laid_out
from kernels.gemm.plan import GemmPlan, plan_simple
from kernels.gemm.simple.dot_scaled import dot_scaled_plan
from kernels.gemm.tuned import read_table, table_path
from kernels.quantize import QuantizedTensor, quantize
from tests.kernels.compile.heard import Case, heard

DEVICES = (HOPPER, ADA, BLACKWELL, BLACKWELL_RTX)
LARGE, LOW = (8192, 8192, 8192), (1, 4096, 4096)
FEW_ROWS, COLUMNS = 16, 256
"""M and N of what is launched: a low block loads the fewest rows, and more are another extent of a load."""
SPLIT = 4
GROUP = 8
SEED = 7
Families = Literal["all", "few"]


def x(shape: tuple[int, int], dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


@cache
def operand(spec: OperandSpec | None, mn: int, k: int) -> QuantizedTensor | torch.Tensor:
    """[mn, K] of no numbers."""
    if spec is None:
        return x((mn, k))
    with heard(HOPPER):
        return quantize(
            x((mn, k)), Operand(spec=spec, k_is_rows=False), seed=SEED if spec.is_random else None
        )


def multiplied(
    name: str, plan: GemmPlan, device: Device, *, accumulate: bool = False, mn_major: bool = False
) -> Iterator[Case]:
    """What a plan launches: passes, and the product last. The order of blocks stands for all others.

    mn_major: bf16 operands are contiguous along their rows.
    """
    plan = replace(plan, blocks=replace(plan.blocks, group=GROUP))
    numerics, k = plan.numerics, max(2, plan.blocks.split_k) * plan.blocks.block_k
    a, b = operand(numerics.operands.a, FEW_ROWS, k), operand(numerics.operands.b, COLUMNS, k)
    if mn_major:
        a, b = x((k, FEW_ROWS)).T, x((k, COLUMNS)).T
    out = x((FEW_ROWS, COLUMNS), torch_dtype(numerics.spec.out))
    with heard(device) as cases:
        launch(a, b, plan, out, accumulate, DeviceKind.GPU)
    *passes, matmul = cases
    native = numerics.arithmetic is Arithmetic.NATIVE_MX and scaled_core(device)
    kind = numerics.native.value if native else numerics.arithmetic.name
    yield from (replace(each, name=name) for each in passes)
    how = (", added into D" if accumulate else "") + (", MN-major" if mn_major else "")
    yield replace(matmul, name=f"{name}{how}; {plan.blocks.title}", kind=kind)


def simple_plans(device: Device, families: Families = "all") -> Iterator[tuple[str, GemmPlan]]:
    """(family, plan) of every recipe, matmul and accumulation, as the simple kernel does it, each once; or
    the first plan of each arithmetic and place of the scales.
    """
    shapes = (LARGE, LOW) if device is HOPPER else (LARGE,)
    asked = product(RECIPES.values(), MATMULS.values(), Summation, shapes)
    plans = dict.fromkeys(
        plan_simple(recipe.spec(matmul), mnk, device, how) for recipe, matmul, how, mnk in asked
    )
    found = [plan for plan in plans if isinstance(plan, GemmPlan) and plan.variant is Variant.SIMPLE]
    if families == "few":
        found = {
            (plan.numerics.arithmetic, plan.numerics.scale_at): plan for plan in reversed(found)
        }.values()
    for plan in found:
        yield plan.numerics.family, plan


def gemms(device: Device) -> Iterator[Case]:
    """The portable kernel in its plans, once of each kind with K split, and those of the device's table."""
    plans = list(simple_plans(device))
    for family, plan in plans:
        yield from multiplied(family, in_splits(plan), device)
    of_each_kind = {plan.numerics.arithmetic: (family, plan) for family, plan in reversed(plans)}
    for family, plan in of_each_kind.values():
        blocks = replace(plan.blocks, block_m=64, block_n=128, warps=4, persistent=False, split_k=SPLIT)
        yield from multiplied(family, replace(plan, blocks=blocks), device)
    by_family = dict(reversed(plans))
    for row in read_table(table_path(device.capability)):
        if row.blocks.variant.is_simple:
            plan = replace(by_family[row.family], blocks=row.blocks)
            yield from multiplied(row.family, in_splits(plan), device)


def in_splits(plan: GemmPlan) -> GemmPlan:
    """The plan with one number of splits, which stands for all others."""
    blocks = plan.blocks
    return replace(plan, blocks=replace(blocks, split_k=SPLIT)) if blocks.split_k > 1 else plan


def natives(device: Device) -> Iterator[Case]:
    """The block-scaled kernel in all blocks of every recipe that the device's tensor core takes; or as the
    device emulates it.
    """
    if scaled_core(device):
        plans = [*native_plans(device)]
    else:
        emulated = ((name, dot_scaled_plan(plan, device)) for name, plan in simple_plans(device))
        plans = [(f"{name}, emulated", plan) for name, plan in emulated if plan is not None]
    for name, plan in plans:
        yield from multiplied(name, plan, device)


def own_passes(device: Device) -> Iterator[Case]:
    """Passes that a recipe of one's own may take: over bf16 beside codes, and over powers of two in fp32."""
    with heard(device) as cases:
        for order in (4, 8) if device is HOPPER else ():
            laid_out(x((FEW_ROWS, COLUMNS)), DeviceKind.GPU, order)
        if scaled_core(device):
            mx = RECIPES["mxfp8"].fprop.a
            scale = x((COLUMNS // mx.tile.k, FEW_ROWS), torch.float32).T
            scale_blocks(scale, (FEW_ROWS, COLUMNS), mx, NativeKind.MXF8F6F4)
    yield from cases


def native_plans(device: Device) -> Iterator[tuple[str, GemmPlan]]:
    """(recipe and matmul, plan) of every product that the device's tensor core takes."""
    for recipe, matmul in product(RECIPES.values(), MATMULS.values()):
        spec = recipe.spec(matmul)
        if isinstance(kind_of(spec), NativeKind):
            arithmetic, at = Arithmetic.NATIVE_MX, ScaleAt.OPERANDS
            numerics = Numerics(spec=spec, arithmetic=arithmetic, scale_at=at, promotion=WHOLE)
            for blocks in candidates(numerics, device):
                plan = GemmPlan(numerics=numerics, blocks=blocks, sms=device.sms)
                yield f"{recipe.name} {matmul.name}", plan


def every_case(device: Device, families: Families = "all") -> Iterator[Case]:
    from tests.kernels.compile.quantizers import quantizer_cases
    from tests.kernels.compile.specialized import specialized_gemms

    yield from specialized_gemms(device, families)
    yield from gemms(device)
    yield from natives(device)
    yield from own_passes(device)
    yield from quantizer_cases(device)


def one_of_each_kernel(cases: Iterable[Case]) -> list[Case]:
    """Of the cases of a kernel, the one with the largest block; a GEMM's for each GPU and kind, a quantizer's
    for each source with its most copies."""
    largest: dict[tuple[object, ...], Case] = {}
    for case in cases:
        source = case.role.rpartition(" ")[0]
        key = (case.kernel, source, case.kind, case.kind and case.device.name)
        if key not in largest or block_size(case) > block_size(largest[key]):
            largest[key] = case
    return list(largest.values())


def block_size(case: Case) -> tuple[str, int, int]:
    """The number of a quantizer's copies, the elements of a block of D, and the stages."""
    sizes = dict(case.constants)
    return case.role, sizes.get("BLOCK_M", 1) * sizes.get("BLOCK_N", 1), sizes.get("STAGES", case.stages)
