"""The quantizer's cases of tests.kernels.compile.cases: every operand of every recipe, as it is quantized."""

from collections.abc import Iterator
from typing import Any

from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES, Operand
from fp8core.rounding import Rounding
from fp8core.tiles import WHOLE, TileShape
from kernels.device import Device, DeviceKind
from kernels.layer.plan import layer_plan, readings
from kernels.quantize.both_plan import BothPlan, both_constants, plan_both
from kernels.quantize.constants import (
    amax_constants,
    for_numbers,
    operand_facts,
    quantize_constants,
)
from kernels.quantize.facts import element_facts
from kernels.quantize.plan import QuantizePlan, plan_quantize
from tests.kernels.compile.cases import Case

LARGE, SMALL = (4096, 4096), (256, 768)
"""Shapes of x. Programs meet over the small one, where an operand asks for the whole tensor's amax."""
BYTES = {"*bf16": 2, "*fp32": 4}
"""Bytes of a number, by its type."""
TYPES = {
    "amax_ptr": "*i32",
    "outer_amax_ptr": "*i32",
    "outer_scale_ptr": "*fp32",
    "new_amax_ptr": "*i32",
    "history_ptr": "*fp32",
    "table_ptr": "*u8",
    "values_ptr": "*fp32",
}


def quantizer_cases(device: Device) -> Iterator[Case]:
    """The kernels of every operand, in order of recipes; and the cast alone."""
    operands = dict.fromkeys(
        operand
        for recipe in RECIPES.values()
        for matmul in MATMULS.values()
        for side in Side
        if (operand := recipe.operand(matmul, side)) is not None
    )
    for operand in operands:
        plan = plan_quantize(operand.spec, *LARGE, side_by_side=not operand.k_is_rows)
        if not plan.fused or operand.spec.scale_rule.has_fitted_outer:
            yield amax_case(operand, plan, device)
        yield quantize_case(operand, plan, device)
    yield from both_cases(device)
    yield Case(
        name="keep the amax",
        device=device,
        kernel="record_kernel",
        types=tuple(
            (f"{which}{name}_ptr", kind)
            for which in ("", "other_")
            for name, kind in (("steps", "*i32"), ("amax", "*fp32"))
        ),
        constants=(("STEPS", 1024),),
    )
    facts = element_facts(RECIPES["mxfp8"].fprop.a.format, Rounding.NEAREST_EVEN, DeviceKind.GPU)
    yield Case(
        name="cast",
        device=device,
        kernel="encode_kernel",
        types=(("x_ptr", "*fp32"),),
        constants=(("random_ptr", None), ("table_ptr", None), ("ELEMENT", facts), ("BLOCK", 1024)),
    )


def amax_case(operand: Operand, plan: QuantizePlan, device: Device) -> Case:
    """The pass that collects the amax of tiles, or of outer tiles."""
    spec, rule = operand.spec, operand.spec.scale_rule
    constants: dict[str, Any] = amax_constants(spec, plan, DeviceKind.GPU)
    if rule.has_fitted_outer:
        constants = amax_constants(spec, plan, DeviceKind.GPU, rule.outer.tile)
    tile = rule.outer.tile if rule.has_fitted_outer else spec.tile
    kernel = "amax_kernel"
    if tile == TileShape(WHOLE, WHOLE):
        kernel = "whole_amax_kernel"
        constants |= {} if rule.history else {"history_ptr": None, "new_amax_ptr": None}
    return _case(kernel, operand, plan, device, constants)


def quantize_case(operand: Operand, plan: QuantizePlan, device: Device) -> Case:
    """The pass that writes codes."""
    constants = quantize_constants(operand.spec, plan, DeviceKind.GPU)
    constants |= dict.fromkeys(_absent(operand, plan))
    return _case("quantize_kernel", operand, plan, device, constants)


def both_cases(device: Device) -> Iterator[Case]:
    """The kernel that writes two layouts, for every pair of operands that a layer reads of one tensor."""
    pairs = (
        tuple(each.operand for each in readings(name, tensor.name, tensor.both))
        for name in RECIPES
        for plan in (layer_plan(name, emulate=False),)
        for tensor in (plan.x, plan.w, plan.dy)
        if tensor.both
    )
    for along, down in dict.fromkeys(pair for pair in pairs if len(pair) > 1):
        large = plan_both(along.spec, down.spec, *LARGE)
        if large is not None:
            yield _both_case(along, down, large, "*bf16", device)
        small = plan_both(along.spec, down.spec, *SMALL, programs=device.sms)
        if small is not None and small.along.meets:
            yield _both_case(along, down, small, "*fp32", device)


def _both_case(along: Operand, down: Operand, plan: BothPlan, number: str, device: Device) -> Case:
    """One pair's case, for numbers of a type."""
    constants = both_constants(along.spec, down.spec, plan, DeviceKind.GPU)
    constants = for_numbers(constants, DeviceKind.GPU, BYTES[number])
    types = {"x_ptr": number}
    constants |= {} if along.spec.scale_rule.history else {"history_ptr": None}
    for prefix, operand, own in (("along_", along, plan.along), ("down_", down, plan.down)):
        absent = dict.fromkeys(_absent(operand, own))
        if own.meets and not operand.spec.scale_rule.has_fitted_outer:
            absent.pop("amax_ptr", None)
        constants |= {prefix + name: None for name in absent}
        types |= {prefix + name: kind for name, kind in _types(operand).items()}
    return Case(
        name=f"{along.spec.format.name} {along.spec.tile} and {down.spec.tile}, {number}",
        device=device,
        kernel="both_kernel",
        types=tuple(types.items()),
        constants=tuple(constants.items()),
        warps=plan.warps,
        unit_stride="x_stride_columns",
    )


def _absent(operand: Operand, plan: QuantizePlan) -> list[str]:
    """Arguments that are None for an operand."""
    spec, rule = operand.spec, operand.spec.scale_rule
    looked_up = operand_facts(spec, plan, DeviceKind.GPU).element.encode_by == "table"
    absent = {
        "amax_ptr": plan.fused,
        "outer_amax_ptr": not rule.has_fitted_outer,
        "outer_scale_ptr": not rule.has_fitted_outer,
        "new_amax_ptr": not rule.history,
        "table_ptr": not looked_up,
        "values_ptr": not looked_up,
        "seed": not spec.is_random,
    }
    return [name for name, is_absent in absent.items() if is_absent]


def _types(operand: Operand) -> dict[str, str]:
    """Types of pointers that depend on the operand, and of those that are always alike."""
    return TYPES | {
        "codes_ptr": "*u8" if operand.spec.format.packed_bits == 8 else "*i32",
        "scale_ptr": "*u8" if operand.spec.scale_rule.format.bits == 8 else "*fp32",
    }


def _case(
    kernel: str, operand: Operand, plan: QuantizePlan, device: Device, constants: dict[str, Any]
) -> Case:
    spec = operand.spec
    turned = " rotated columns" if operand.k_is_rows and spec.rotation is not None else ""
    return Case(
        name=f"{spec.format.name} {spec.tile}{turned}",
        device=device,
        kernel=kernel,
        types=tuple(_types(operand).items()),
        constants=tuple(constants.items()),
        warps=plan.warps,
        unit_stride="x_stride_mn" if operand.k_is_rows else "x_stride_k",
    )
