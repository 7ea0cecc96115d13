"""What tests.kernels.compile.plans compiles: kernels and their compile-time arguments, for GPUs that need not
be here.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import ADA, BLACKWELL, BLACKWELL_RTX, COMPILE_OPTIONS, HOPPER, Device, DeviceKind
from kernels.gemm.blocks import Variant
from kernels.gemm.numerics import Arithmetic, Summation
from kernels.gemm.plan import GemmPlan, plan_simple
from kernels.gemm.simple.launch import kernel_constants
from kernels.gemm.tuned import read_table, table_path

DEVICES = (HOPPER, ADA, BLACKWELL, BLACKWELL_RTX)
LARGE, LOW = (8192, 8192, 8192), (1, 4096, 4096)
SPLIT = 4
GROUP = 8
Families = Literal["all", "few"]
FLOAT8 = {"e4m3": "fp8e4nv", "e5m2": "fp8e5"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One kernel to compile, as plain data that goes to another process; two that differ in name are one.

    kind: a GEMM's arithmetic, by name; role: a quantizer's source and copies; gluon: the kernel is in
    Gluon, not in tl; unit_stride: the stride of D or of x that is 1.
    """

    name: str = field(compare=False)
    device: Device
    kernel: str
    types: tuple[tuple[str, str], ...] = ()
    constants: tuple[tuple[str, object], ...]
    warps: int = 4
    stages: int = 3
    kind: str = ""
    role: str = ""
    split: bool = False
    gluon: bool = False
    unit_stride: str = "out_stride_n"
    options: tuple[tuple[str, object], ...] = tuple(COMPILE_OPTIONS.items())


def gemm(name: str, plan: GemmPlan, device: Device) -> Case:
    """A plan of the portable kernel; the order of blocks and the number of runs stand for all others."""
    split = SPLIT if plan.blocks.split_k > 1 else 1
    plan = replace(plan, blocks=replace(plan.blocks, group=GROUP, split_k=split))
    k = plan.blocks.split_k * plan.blocks.block_k
    constants = kernel_constants(plan, k, accumulate=False, kind=DeviceKind.GPU)
    types = {"out_ptr": f"*{plan.numerics.spec.out.name}"}
    general = plan.blocks.is_general
    if general and plan.blocks.split_k == 1:
        constants |= {"parts_ptr": None, "arrivals_ptr": None}
    sides = [
        ("a", plan.blocks.block_m, plan.numerics.spec.a),
        ("b", plan.blocks.block_n, plan.numerics.spec.b),
    ]
    if plan.blocks.transposed:
        sides.reverse()
    for argument, (side, block, spec) in zip(("a_codes", "b_codes"), sides, strict=True):
        dtype = "bf16" if plan.numerics.arithmetic is Arithmetic.DEQUANTIZED else FLOAT8[spec.format.name]
        dtype = "u8" if side in plan.blocks.decoded else dtype
        types[argument] = (
            f"tensordesc<{dtype}[{block}, {plan.blocks.block_k}]>" if plan.blocks.tma else f"*{dtype}"
        )
    return Case(
        name=f"{name}; {plan.blocks.title}",
        device=device,
        kernel="general_gemm_kernel" if general else "gemm_kernel",
        types=tuple(types.items()),
        constants=tuple(constants.items()),
        warps=plan.blocks.warps,
        stages=plan.blocks.stages,
        kind=plan.numerics.arithmetic.name,
        split=plan.blocks.split_k > 1,
        unit_stride="out_stride_m" if plan.blocks.transposed else "out_stride_n",
    )


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
        yield gemm(family, plan, device)
    of_each_kind = {plan.numerics.arithmetic: (family, plan) for family, plan in reversed(plans)}
    for family, plan in of_each_kind.values():
        blocks = replace(plan.blocks, block_m=64, block_n=128, warps=4, persistent=False, split_k=SPLIT)
        yield gemm(family, replace(plan, blocks=blocks), device)
    by_family = dict(reversed(plans))
    for row in read_table(table_path(device.capability)):
        if row.blocks.variant.is_simple:
            yield gemm(row.family, replace(by_family[row.family], blocks=row.blocks), device)


def every_case(device: Device, families: Families = "all") -> Iterator[Case]:
    from tests.kernels.compile.blackwell import natives
    from tests.kernels.compile.passes import passes
    from tests.kernels.compile.quantizers import quantizer_cases
    from tests.kernels.compile.specialized import specialized_gemms

    yield from specialized_gemms(device, families)
    yield from gemms(device)
    yield from natives(device)
    yield from passes(device)
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
