"""The fused GEMMs among what tests.kernels.compile.plans compiles."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES, Operand
from kernels.device import HOPPER, Device, DeviceKind
from kernels.gemm.blocks import Blocks
from kernels.gemm.bodies import tries
from kernels.gemm.fused.into import facts_of, refusal
from kernels.gemm.fused.plan import holding
from kernels.gemm.fused.quantizing import LINE, candidates, out_columns, plan_quantizing
from kernels.gemm.fused.quantizing_launch import quantizing_constants
from kernels.gemm.fused.simple_launch import simple_blocks, simple_constants
from kernels.gemm.hopper.blocks import RING_BODIES
from kernels.gemm.hopper.descriptors import WARPS, flat, swizzled
from kernels.gemm.hopper.sizes import FEW_SCALES, SLAB
from kernels.gemm.meaning import Arithmetic, Summation
from kernels.gemm.plan import GemmPlan, plan_built_in
from kernels.quantize.tensor import float8
from tests.kernels.compile.cases import FLOAT8, GROUP, LARGE, SPLIT, Case
from tests.kernels.compile.specialized import described, specialized

INTO = (
    ("deepseek_v3", "deepseek_v3"),
    ("deepseek_v3", "mxfp8"),
    ("mxfp8", "mxfp8"),
    ("per_tensor_delayed", "per_tensor_delayed"),
)
"""(recipe of the matmul, recipe of the next layer's x)."""
QUANTIZING = ("deepseek_v3", "mxfp8")
LOW = (64, 4096, 14336)


def fused_gemms(device: Device) -> Iterator[Case]:
    """The fused GEMMs of Hopper, those whose D leaves as codes, and the one that is written in `tl`."""
    if device is not HOPPER:  # the `tl` kernel is that of any GPU: one stands for all
        return
    yield from simple(device)
    for recipe, target in INTO:
        operand = Operand(spec=RECIPES[target].fprop.a, k_is_rows=False)
        assert not refusal(operand)
        for plan in plans_into(recipe, operand, device):
            yield into(f"{recipe} into {target}", plan, operand, device)
    for recipe, mnk in product(QUANTIZING, (LARGE, LOW)):
        plan = plan_quantizing(RECIPES[recipe].fprop, mnk, device)
        of_each_size = {
            (each.block_m, each.block_n, each.split_k > 1): each
            for each in candidates(plan.meaning, mnk, device)
        }
        for blocks in of_each_size.values():
            yield quantizing(recipe, replace(plan, blocks=replace(blocks, group=GROUP)), device)


def plans_into(recipe: str, operand: Operand, device: Device) -> Iterator[GemmPlan]:
    """Plans of each ring body that holds an operand's tiles, in each size of block."""
    spec = replace(RECIPES[recipe].spec(MATMULS["fprop"]), out=FORMATS["bf16"])
    for mnk in (LARGE, LOW):
        plan = plan_built_in(spec, mnk, device, Summation.RECIPE)
        for body in RING_BODIES:
            tried = list(tries(body, plan.meaning, mnk, device))
            held = [holding(each, operand.spec.tile.k or 0, plan.meaning, device) for each in tried]
            of_each_size = {(each.block_m, each.block_n, each.split_k > 1): each for each in reversed(held)}
            for blocks in of_each_size.values():
                split = SPLIT if blocks.split_k > 1 else 1
                yield replace(plan, blocks=replace(blocks, group=GROUP, split_k=split))


def into(name: str, plan: GemmPlan, operand: Operand, device: Device) -> Case:
    """A plan whose D leaves as codes."""
    facts = facts_of(operand.spec, LARGE[1], DeviceKind.GPU)
    case, box = specialized(name, plan, device, accumulate=False), plan.storage.out_box
    dtype = str(float8(operand.spec.format)).removeprefix("torch.")
    types = dict(case.types) | {
        "out_desc": described(FLOAT8[operand.spec.format.name], list(box), swizzled(*box, dtype)),
        "d_scale_ptr": "*u8" if facts.rule.in_bytes else "*fp32",
        "d_amax_ptr": "*i32",
    }
    constants = {name: value for name, value in case.constants if name not in ("d_scale_ptr", "d_amax_ptr")}
    return replace(case, types=tuple(types.items()), constants=tuple((constants | {"INTO": facts}).items()))


def quantizing(name: str, plan: GemmPlan, device: Device) -> Case:
    """A plan that quantizes its own A."""
    blocks, k = plan.blocks, plan.blocks.split_k * plan.blocks.block_k
    facts = facts_of(plan.meaning.spec.a, k, DeviceKind.GPU)
    fp8 = plan.meaning.arithmetic is Arithmetic.FP8
    b_type, b_dtype = (FLOAT8["e4m3"], "float8_e4m3fn") if fp8 else ("bf16", "bfloat16")
    b_box, out_box = (blocks.block_n, blocks.block_k), (SLAB, out_columns(blocks.body, sides(blocks)))
    types = {
        "a_desc": described("bf16", [blocks.block_m, LINE], swizzled(blocks.block_m, LINE, "bfloat16")),
        "b_desc": described(b_type, list(b_box), swizzled(*b_box, b_dtype)),
        "b_scale_desc": described("fp32", [FEW_SCALES], flat(FORMATS["fp32"].bits)),
        "out_desc": described("bf16", list(out_box), swizzled(*out_box, "bfloat16")),
    }
    constants = quantizing_constants(plan, k, facts)
    if blocks.split_k == 1:
        constants |= {"parts_ptr": None, "arrivals_ptr": None}
    return Case(
        name=f"{name}; {blocks.title}",
        device=device,
        kernel="quantizing_gemm_kernel",
        types=tuple(types.items()),
        constants=tuple(constants.items()),
        warps=WARPS,
        kind=plan.meaning.arithmetic.name,
        gluon=True,
    )


def sides(blocks: Blocks) -> tuple[int, int]:
    return blocks.block_m, blocks.block_n


def simple(device: Device) -> Iterator[Case]:
    """The kernel that is written in `tl`, with either end fused, in codes and in bf16."""
    for recipe, ends in product(QUANTIZING, ("a", "d")):
        plan = plan_built_in(RECIPES[recipe].fprop, LARGE, device, Summation.RECIPE)
        if plan.meaning.arithmetic is Arithmetic.NATIVE_MX:
            continue
        facts = facts_of(plan.meaning.spec.a, LARGE[2], DeviceKind.GPU)
        blocks = simple_blocks(plan.blocks, facts.tile, rounds=ends == "a" and recipe == "mxfp8")
        plan = replace(plan, blocks=replace(blocks, group=GROUP))
        fp8 = plan.meaning.arithmetic is Arithmetic.FP8
        b_type = FLOAT8["e4m3"] if fp8 else "bf16"
        a_type = "bf16" if ends == "a" else b_type
        types = {
            "a": f"tensordesc<{a_type}[{blocks.block_m}, {blocks.block_k}]>",
            "b_codes": f"tensordesc<{b_type}[{blocks.block_n}, {blocks.block_k}]>",
            "out_ptr": "*u8" if ends == "d" else "*bf16",
            "d_scale_ptr": "*u8" if facts.rule.in_bytes else "*fp32",
            "d_amax_ptr": "*i32",
        }
        pointers = {"d_scale_ptr": None, "d_amax_ptr": None} if ends == "a" else {}
        constants = simple_constants(
            plan, LARGE[2], DeviceKind.GPU, facts if ends == "a" else None, facts if ends == "d" else None
        )
        yield Case(
            name=f"{recipe}, {ends} fused; {blocks.title}",
            device=device,
            kernel="fused_gemm_kernel",
            types=tuple((name, type_) for name, type_ in types.items() if name not in pointers),
            constants=tuple((constants | pointers).items()),
            warps=blocks.warps,
            stages=blocks.stages,
            kind=plan.meaning.arithmetic.name,
            unit_stride="",
        )
