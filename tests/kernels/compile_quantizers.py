"""The quantizer's cases of tests.kernels.compile_cases: every operand of every recipe, as it is quantized."""

from collections.abc import Iterator
from typing import Any

from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES, Operand
from fp8core.rounding import Rounding
from kernels.device import HOPPER, Device, DeviceKind
from kernels.quantize.facts import element_facts
from kernels.quantize.plan import QuantizePlan, amax_constants, plan_quantize, quantize_constants
from tests.kernels.compile_cases import Case

LARGE = (4096, 4096)
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
    facts = element_facts(RECIPES["mxfp8"].fprop.a.format, Rounding.NEAREST_EVEN, DeviceKind.GPU)
    yield Case(
        name="cast",
        device=device,
        kernel="encode_kernel",
        types=(("x_ptr", "*fp32"),),
        constants=(("table_ptr", None), ("ELEMENT", facts), ("BLOCK", 1024)),
    )


def amax_case(operand: Operand, plan: QuantizePlan, device: Device) -> Case:
    """The pass that collects the amax of tiles, or of outer tiles."""
    spec, rule = operand.spec, operand.spec.scale_rule
    constants: dict[str, Any] = amax_constants(spec, plan, DeviceKind.GPU)
    if rule.has_fitted_outer:
        constants = amax_constants(spec, plan, DeviceKind.GPU, rule.outer.tile)
    if not rule.history:
        constants["history_ptr"] = None
    return _case("amax_kernel", operand, plan, device, constants, f"{rule.history > 0} {spec.rotation}")


def quantize_case(operand: Operand, plan: QuantizePlan, device: Device) -> Case:
    """The pass that writes codes."""
    spec, rule = operand.spec, operand.spec.scale_rule
    constants = quantize_constants(spec, plan, DeviceKind.GPU)
    element = constants["ELEMENT"]
    absent = {
        "amax_ptr": plan.fused,
        "outer_amax_ptr": not rule.has_fitted_outer,
        "outer_scale_ptr": not rule.has_fitted_outer,
        "new_amax_ptr": not rule.history,
        "table_ptr": element.encode_by != "table",
        "values_ptr": element.encode_by != "table",
        "seed": not spec.is_random,
    }
    constants |= {name: None for name, is_absent in absent.items() if is_absent}
    levels = constants["RULE"].outer, len(rule.search), constants["RULE"].divided
    path = f"{element.encode_by} {element.bits} {levels} {spec.rotation} {plan.saved}"
    return _case("quantize_kernel", operand, plan, device, constants, path)


def _case(
    kernel: str, operand: Operand, plan: QuantizePlan, device: Device, constants: dict[str, Any], path: str
) -> Case:
    spec = operand.spec
    byte_codes = spec.format.packed_bits == 8
    types = TYPES | {
        "codes_ptr": "*u8" if byte_codes else "*i32",
        "scale_ptr": "*u8" if spec.scale_rule.format.bits == 8 else "*fp32",
    }
    return Case(
        name=f"{spec.format.name} {spec.tile}",
        device=device,
        kernel=kernel,
        types=tuple(types.items()),
        constants=tuple(constants.items()),
        warps=plan.warps,
        unit_stride="x_stride_mn" if operand.k_is_rows else "x_stride_k",
        # What is compiled in every test run: each path for Hopper, one for the others.
        path=path if device is HOPPER else "",
    )
