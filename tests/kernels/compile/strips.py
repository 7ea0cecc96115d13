"""The cases of tests.kernels.compile.plans for the kernel that writes in strips: Hopper's alone."""

from collections.abc import Iterator

from fp8core.linear import LayerTensor
from fp8core.recipes import RECIPES, Operand
from kernels.device import HOPPER, Device, DeviceKind
from kernels.quantize.constants import operand_facts
from kernels.quantize.plan import plan_quantize
from kernels.strips.plan import WARPS, panel_rows, strip_constants, takes_strips
from tests.kernels.compile.cases import Case
from tests.kernels.compile.fused_quantizers import SIZE, SOURCES, operands_of


def strip_cases(device: Device) -> Iterator[Case]:
    """Every pair of operands that is written so, of every source, and every one down the columns alone."""
    if device is not HOPPER:
        return
    yield from panel_cases(device)
    for source, tensor in (("", LayerTensor.X), *SOURCES):
        pairs = [operands_of(recipe, tensor) for recipe in RECIPES.values()]
        both = [pair for pair in pairs if None not in pair]
        alone = [(None, down) for _, down in pairs if down is not None and source]
        for along, down in dict.fromkeys(both + alone):
            if takes_strips(source, along and along.spec, down.spec, *SIZE, device):
                yield _case(source, along, down, device)
                yield _case(source, along, down, device, rows=SIZE[0] - 1)


def panel_cases(device: Device) -> Iterator[Case]:
    """Every operand whose lines are whole columns."""
    operands = (operands_of(recipe, tensor)[1] for recipe in RECIPES.values() for tensor in LayerTensor)
    for spec in dict.fromkeys(each.spec for each in operands if each is not None):
        rows = panel_rows(spec, *SIZE, device)
        if rows:
            plan = plan_quantize(spec, *SIZE, side_by_side=False)
            yield Case(
                name=f"panels: {spec.format.name} {spec.tile}",
                device=device,
                kernel="panel_kernel",
                gluon=True,
                types=(("x_ptr", "*bf16"), ("counters_ptr", "*i32")),
                constants=(("OPERAND", operand_facts(spec, plan, DeviceKind.GPU)), ("ROWS", rows)),
                warps=WARPS,
            )


def _case(source: str, along: Operand | None, down: Operand, device: Device, rows: int = SIZE[0]) -> Case:
    scales = "*u8" if down.spec.scale_rule.format.bits == 8 else "*fp32"
    constants = strip_constants(source, along and along.spec, down.spec, rows, SIZE[1])
    if along is None:
        constants |= {"along_codes_ptr": None, "along_scale_ptr": None}
    if source in ("", "swiglu"):
        constants |= {"other_ptr": None, "other_stride": 0}
    if source != "rms norm":
        constants["reciprocals_ptr"] = None
    own = ", down columns alone" if along is None else ""
    return Case(
        name=f"{source or 'a tensor'} of {rows} rows in strips{own}: {down.spec.tile}, {scales}",
        device=device,
        kernel="strip_kernel",
        gluon=True,
        types=(
            ("x_ptr", "*bf16"),
            ("other_ptr", "*bf16"),
            ("along_codes_ptr", "*u8"),
            ("down_codes_ptr", "*u8"),
            ("along_scale_ptr", scales),
            ("down_scale_ptr", scales),
        ),
        constants=tuple(constants.items()),
        warps=WARPS,
    )
