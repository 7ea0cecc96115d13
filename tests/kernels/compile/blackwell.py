"""What tests.kernels.compile.plans compiles of the block-scaled kernel and of the passes before it."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE
from kernels.device import BLACKWELL, Device, DeviceKind
from kernels.gemm.blackwell import code_box, kernel_constants, scale_box, scale_constants
from kernels.gemm.block_scaled import NATIVE, NativeKind, candidates, instruction_format, kind_of, scaled_core
from kernels.gemm.numerics import Arithmetic, Numerics, ScaleAt
from kernels.gemm.passes.widen import widen_constants
from kernels.gemm.plan import GemmPlan
from kernels.gemm.simple.dot_scaled import dot_scaled_plan
from tests.kernels.compile.cases import FLOAT8, GROUP, Case, simple_plans


def natives(device: Device) -> Iterator[Case]:
    """The block-scaled kernel in all blocks of every recipe that the device's tensor core takes, with its
    passes; or as the device emulates it.
    """
    if scaled_core(device):
        plans = [*native_plans(device)]
    else:
        emulated = ((name, dot_scaled_plan(plan, device)) for name, plan in simple_plans(device))
        plans = [(f"{name}, emulated", plan) for name, plan in emulated if plan is not None]
    for name, plan in plans:
        yield gemm(name, plan, device)
        if device is BLACKWELL:
            yield from passes(name, plan, device)


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


def gemm(name: str, plan: GemmPlan, device: Device) -> Case:
    """A plan of the block-scaled kernel; on a GPU that emulates it, its kind is the arithmetic's."""
    numerics, blocks = plan.numerics, replace(plan.blocks, group=GROUP)
    kind, types = numerics.native, {"out_ptr": f"*{numerics.spec.out.name}"}
    made = replace(plan, blocks=blocks)
    constants = kernel_constants(made, blocks.block_k, accumulate=False, kind=DeviceKind.GPU)
    sides = (("a", numerics.spec.a, blocks.block_m), ("b", numerics.spec.b, blocks.block_n))
    for (side, spec, block), given in zip(sides, numerics.multiplied, strict=True):
        dtype, scale = FLOAT8.get(given.name, "u8"), FLOAT8.get(NATIVE[kind].scale, "u8")
        types[f"{side}_desc"] = f"tensordesc<{dtype}{code_box(spec, kind, block, blocks.block_k)}>"
        types[f"{side}_scale_desc"] = f"tensordesc<{scale}{scale_box(kind, block, blocks.block_k)}>"
        constants |= {} if spec.scale_rule.outer else {f"{side}_outer_ptr": None}
    return Case(
        name=f"{name}; {blocks.title}",
        device=device,
        kernel="native_gemm_kernel",
        types=tuple(types.items()),
        constants=tuple(constants.items()),
        warps=blocks.warps,
        stages=blocks.stages,
        kind=kind.value if scaled_core(device) else numerics.arithmetic.name,
    )


def passes(name: str, plan: GemmPlan, device: Device) -> Iterator[Case]:
    """The passes over A and B before the block-scaled kernel."""
    kind = plan.numerics.native
    for spec in plan.numerics.spec.quantized:
        for from_fp32 in (False, True)[: 1 + spec.scale_rule.powers_of_two]:
            constants = tuple(scale_constants(spec, kind, from_fp32=from_fp32).items())
            types = (("scale_ptr", "*fp32" if from_fp32 else "*u8"), ("blocks_ptr", "*u8"))
            yield Case(
                name=name, device=device, kernel="scale_blocks_kernel", types=types, constants=constants
            )
        if instruction_format(kind, spec.format) != spec.format:
            constants, types = widen_constants(spec.format), (("packed_ptr", "*u8"), ("codes_ptr", "*i32"))
            yield Case(
                name=name,
                device=device,
                kernel="widen_kernel",
                types=types,
                constants=tuple(constants.items()),
            )
