"""The cases of tests.kernels.compile.plans for the fused kernels: what is computed, then quantized."""

from collections.abc import Iterator

from fp8core.linear import MATMULS, LayerTensor
from fp8core.recipes import RECIPES, Operand, Recipe
from kernels.device import HOPPER, Device, DeviceKind
from kernels.fused.plan import FusedPlan, plan_fused
from kernels.quantize.constants import operand_facts
from kernels.quantize.facts import fp32_bits
from kernels.quantize.plan import PARTIALS, QuantizePlan
from tests.kernels.compile.cases import Case

SIZE = (4096, 7168)
EPS = fp32_bits(1e-6)
BROAD = ("deepseek_v3", "mxfp8", "rowwise")
"""Recipes of which each way to write copies is compiled; of others, both copies at once."""
SOURCES = (("swiglu", LayerTensor.X), ("swiglu backward", LayerTensor.DY), ("rms norm", LayerTensor.X))
ARGUMENTS = {
    "amax_ptr": None,
    "outer_amax_ptr": None,
    "codes_ptr": "*u8",
    "scale_ptr": "*fp32",
    "outer_scale_ptr": None,
    "new_amax_ptr": None,
    "table_ptr": None,
    "values_ptr": None,
    "seed": None,
    "codes_stride": "i32",
    "mn_tiles": "i32",
    "outer_mn_tiles": 1,
}


def operands_of(recipe: Recipe, tensor: LayerTensor) -> tuple[Operand | None, Operand | None]:
    """(along the rows, down the columns): what reads a tensor."""
    sides = [(matmul, matmul.side_of(tensor)) for matmul in MATMULS.values()]
    found = [recipe.operand(matmul, side) for matmul, side in sides if side is not None]
    along = next((each for each in found if each is not None and not each.k_is_rows), None)
    return along, next((each for each in found if each is not None and each.k_is_rows), None)


def fused_quantizers(device: Device) -> Iterator[Case]:
    """Kernels for one copy, for both, and in bf16; of each source. For Hopper alone."""
    if device is not HOPPER:
        return
    for source, tensor in SOURCES:
        for name in (*BROAD, *(name for name in RECIPES if name not in BROAD)):
            along, down = operands_of(RECIPES[name], tensor)
            yield from _cases(source, along, down, device, name)
            if name in BROAD:
                yield from _cases(source, along, None, device, name)
                yield from _cases(source, None, down, device, name)
        yield from _cases(source, None, None, device, "bf16")
    plan = plan_fused(None, None, *SIZE, whole_rows=True)
    assert plan is not None
    constants = {"EPS": EPS, "BLOCK_ROWS": plan.block_rows, "BLOCK_COLUMNS": plan.block_columns}
    yield from _amax_cases(device)
    yield Case(
        name="rows",
        device=device,
        kernel="reciprocal_rms_kernel",
        types=(("x_ptr", "*bf16"),),
        constants=tuple(constants.items()),
        warps=plan.warps,
    )


def _amax_cases(device: Device) -> Iterator[Case]:
    """The pass over a whole result, with and without a history."""
    for source, _ in SOURCES:
        plan = plan_fused(None, None, *SIZE, whole_rows=source == "rms norm")
        assert plan is not None
        constants = {
            "SOURCE": source,
            "EPS": EPS,
            "BLOCK_ROWS": plan.block_rows,
            "BLOCK_COLUMNS": plan.block_columns,
            "HISTORY": 1024,
            "PARTIALS": PARTIALS,
            "CAST": True,
        }
        absent = {"other_ptr": None, "other_stride": 0} if source == "swiglu" else {}
        yield Case(
            name=source,
            device=device,
            kernel="fused_amax_kernel",
            types=(
                ("x_ptr", "*bf16"),
                ("other_ptr", "*bf16"),
                ("new_amax_ptr", "*i32"),
                ("history_ptr", "*fp32"),
            ),
            constants=tuple((constants | absent).items()),
            warps=plan.warps,
        )


def _cases(
    source: str, along: Operand | None, down: Operand | None, device: Device, name: str
) -> Iterator[Case]:
    """The kernel in the plan that the launcher takes; and, for a norm, in the plan without whole rows."""
    specs = along and along.spec, down and down.spec
    plans = {
        whole: plan_fused(*specs, *SIZE, halves=1 + (source == "swiglu backward"), whole_rows=whole)
        for whole in ((True, False) if source == "rms norm" else (False,))
    }
    for whole, plan in plans.items():
        if plan is not None:
            yield _case(source, along, down, plan, whole, device, name)


def passed_before(operand: Operand, cut: QuantizePlan) -> tuple[str, ...]:
    """What comes from a pass over the whole result, and room for what the next step looks back on."""
    rule = operand.spec.scale_rule
    tiles = ("amax_ptr",) if rule.history or not cut.fused else ()
    outer = ("outer_amax_ptr", "outer_scale_ptr") if rule.has_fitted_outer else ()
    return (*tiles, *outer, *(("new_amax_ptr",) if rule.history else ()))


def _case(
    source: str,
    along: Operand | None,
    down: Operand | None,
    plan: FusedPlan,
    whole: bool,
    device: Device,
    name: str,
) -> Case:
    types = {"x_ptr": "*bf16", "other_ptr": "*bf16", "reciprocals_ptr": "*fp32", "out_ptr": "*bf16"}
    constants: dict[str, object] = {
        "SOURCE": source,
        "EPS": EPS,
        "REVERSED": False,
        "CAST": True,
        **plan.constants,
    }
    if source == "swiglu":
        constants |= {"other_ptr": None, "other_stride": 0}
    if source != "rms norm" or whole:
        constants["reciprocals_ptr"] = None
    constants["out_amax_ptr"] = None
    if along is not None or down is not None:
        constants |= {"out_ptr": None, "out_stride": 0}
    elif source != "rms norm":
        del constants["out_amax_ptr"]
        types["out_amax_ptr"] = "*i32"
    for side, operand, cut in (("along", along, plan.along), ("down", down, plan.down)):
        facts = None if operand is None else operand_facts(operand.spec, cut, DeviceKind.GPU)
        constants[side.upper()] = facts
        for argument, kind in ARGUMENTS.items():
            place = f"{side}_{argument}"
            if facts is None or not isinstance(kind, str):
                constants[place] = None if facts is None else kind
            elif argument == "codes_ptr" and operand.spec.format.packed_bits < 8:
                types[place] = "*i32"
            elif argument == "scale_ptr" and operand.spec.scale_rule.format.bits == 8:
                types[place] = "*u8"
            else:
                types[place] = kind
        if facts is not None and facts.element.encode_by == "table":
            del constants[f"{side}_table_ptr"], constants[f"{side}_values_ptr"]
            types |= {f"{side}_table_ptr": "*u8", f"{side}_values_ptr": "*fp32"}
        if operand is not None:
            for argument in passed_before(operand, cut):
                del constants[f"{side}_{argument}"]
                types[f"{side}_{argument}"] = "*fp32" if argument == "outer_scale_ptr" else "*i32"
        if operand is not None and operand.spec.is_random:
            del constants[f"{side}_seed"]
            types[f"{side}_seed"] = "i64"
    ways = [word for word, facts in (("along", along), ("down", down)) if facts is not None]
    return Case(
        name=f"{source}{', whole rows' if whole else ''}: {name} {' and '.join(ways)}",
        device=device,
        kernel="fused_kernel",
        types=tuple(types.items()),
        constants=tuple(constants.items()),
        warps=plan.warps,
    )
