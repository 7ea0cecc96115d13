"""A recipe as torchao's: Float8LinearConfig, or a configuration of its block, MX and NVFP4 prototypes.

Sources: torchao/float8/config.py, torchao/prototype/blockwise_fp8_training/linear.py,
torchao/prototype/moe_training/config.py and nvfp4_training.py there. `assets/peers/torchao.json` says in
which version.
"""

from collections.abc import Mapping
from dataclasses import replace

from fp8core.formats import Format
from fp8core.linear import LayerTensor
from fp8core.recipes import OperandSpec, Recipe
from fp8core.rotations import NVFP4_SIGNS, Rotation, RotationKind
from fp8core.rounding import Rounding
from fp8core.scales import E8M0_ROUND_UP, FP32_SCALE, Fit, OuterScale, ScaleRule
from fp8core.tiles import TileShape
from pages.kit.in_code.export import (
    CELLS,
    DY_WGRAD,
    E2M1,
    E4M3,
    E5M2,
    READERS,
    ROW,
    TENSOR,
    X_WGRAD,
    Cell,
    Export,
    cell_words,
    difference,
    is_fast,
    operands,
)

LIBRARY = "torchao"
_BLOCK, _MX, _NV = 128, 32, 16
_DTYPES = {"e4m3": "torch.float8_e4m3fn", "e5m2": "torch.float8_e5m2"}
_MODES = {Fit.FLOOR: "FLOOR", Fit.ROUND_UP: "RCEIL"}
_NAMES = {LayerTensor.X: "input", LayerTensor.W: "weight", LayerTensor.DY: "grad_output"}
_SECOND = {LayerTensor.X: "grad_weight", LayerTensor.W: "grad_input", LayerTensor.DY: "grad_weight"}
_GEMMS = {"fprop": "output", "dgrad": "grad_input", "wgrad": "grad_weight"}
_USUAL = {LayerTensor.X: E4M3, LayerTensor.W: E4M3, LayerTensor.DY: E5M2}
_USUAL_FAST = {"fprop": True, "dgrad": False, "wgrad": False}
_FLOOR = 1e-12
_FLOOR_NOTE = f"torchao holds amax at {_FLOOR:g}, and divides in float64."

Six = Mapping[Cell, OperandSpec | None]


def torchao(recipe: Recipe) -> Export:
    """The recipe in torchao's words, or why it has none."""
    found = operands(recipe)
    some = next((operand for operand in found.values() if operand is not None), None)
    if some is None:
        return _none("none of its operands is quantized")
    if some.scale_rule.outer is not None:
        return _nvfp4(found)
    if some.tile.k == _MX:
        return _mx(found)
    if some.tile.k == _BLOCK:
        return _blocks(recipe, found)
    return _float8(recipe, found)


def _none(why: str) -> Export:
    return Export(library=LIBRARY, text=None, why=f"torchao cannot express it: {why}.")


def _float8(recipe: Recipe, found: Six) -> Export:
    """Float8LinearConfig: one scale for a tensor or for each row; each matmul in fp8 or in bf16."""
    owner = "Float8LinearConfig"
    rule = next(operand.scale_rule for operand in found.values() if operand is not None)
    power = rule.fit is Fit.ROUND_UP
    wanted = replace(E8M0_ROUND_UP, format=rule.format) if power else FP32_SCALE
    for cell, operand in found.items():
        if operand is None:
            continue
        if operand.tile not in (TENSOR, ROW):
            return _none(f"{owner} has a scale for a tensor or for a row, and {cell_words(cell)} has tiles")
        if operand.format.name not in _DTYPES:
            return _none(f"{owner} casts to e4m3 or e5m2, and {cell_words(cell)} is {operand.format.name}")
        floor = operand.scale_rule.amax_floor if operand.scale_rule.amax_floor <= _FLOOR else 0.0
        made = OperandSpec(
            format=operand.format, tile=operand.tile, scale_rule=replace(wanted, amax_floor=floor)
        )
        if why := difference({cell: operand}, {cell: made}, owner):
            return _none(why)
    if why := _precisions(found, owner):
        return _none(why)
    config = _float8_arguments(recipe, found, power)
    named = next((name for name, made in _RECIPES.items() if made == config), None)
    return Export(library=LIBRARY, text=_float8_text(config, named), notes=(_FLOOR_NOTE,))


def _precisions(found: Six, owner: str) -> str:
    """Why the casts do not fit together: one format a tensor, both operands of a matmul in fp8 or in bf16."""
    for matmul in _GEMMS:
        kept = {operand is None for cell, operand in found.items() if cell[0] == matmul}
        if len(kept) > 1:
            return (
                f"{owner} has both operands of a matmul in fp8 or both in bf16, and one is bf16 in {matmul}"
            )
    for tensor, cells in READERS.items():
        formats = {operand.format.name for cell in cells if (operand := found[cell]) is not None}
        if len(formats) > 1:
            return (
                f"{owner} casts a tensor to one format, and {tensor.value} is {' and '.join(sorted(formats))}"
            )
    return ""


Arguments = dict[str, str]


def _float8_arguments(recipe: Recipe, found: Six, power: bool) -> Arguments:
    """The arguments that are not at their defaults."""
    config: Arguments = {}
    for tensor, (first, second) in READERS.items():
        element = next((one.format for cell in (first, second) if (one := found[cell]) is not None), None)
        casts = [_cast(found[cell], element, _USUAL[tensor]) for cell in (first, second)]
        if casts[0] != "CastConfig()":
            config[f"cast_config_{_NAMES[tensor]}"] = casts[0]
        if casts[1] != casts[0]:
            config[f"cast_config_{_NAMES[tensor]}_for_{_SECOND[tensor]}"] = casts[1]
    for matmul, name in _GEMMS.items():
        quantized = any(cell[0] == matmul and operand is not None for cell, operand in found.items())
        if quantized and is_fast(recipe, matmul) != _USUAL_FAST[matmul]:
            fast = is_fast(recipe, matmul)
            config[f"gemm_config_{name}"] = f"Float8GemmConfig(use_fast_accum={fast})"
    if power:
        config["round_scales_to_power_of_2"] = "True"
    return config


def _cast(operand: OperandSpec | None, element: Format | None, usual: Format) -> str:
    """The CastConfig of one read; `element` is the tensor's format, `usual` the default."""
    parts = []
    if operand is None:
        parts.append("scaling_type=ScalingType.DISABLED")
    elif operand.tile == ROW:
        parts.append("scaling_granularity=ScalingGranularity.AXISWISE")
    if element is not None and element != usual:
        parts.append(f"target_dtype={_DTYPES[element.name]}")
    return f"CastConfig({', '.join(parts)})"


_ROWS = {
    "cast_config_input": "CastConfig(scaling_granularity=ScalingGranularity.AXISWISE)",
    "cast_config_weight": "CastConfig(scaling_granularity=ScalingGranularity.AXISWISE)",
    "cast_config_grad_output": "CastConfig(scaling_granularity=ScalingGranularity.AXISWISE, "
    "target_dtype=torch.float8_e4m3fn)",
}
_RECIPES: dict[str, Arguments] = {
    "tensorwise": {},
    "rowwise": {**_ROWS, "round_scales_to_power_of_2": "True"},
    "rowwise_with_gw_hp": {
        **_ROWS,
        "cast_config_input_for_grad_weight": "CastConfig(scaling_type=ScalingType.DISABLED)",
        "cast_config_weight_for_grad_input": "CastConfig()",
        "cast_config_grad_output_for_grad_weight": "CastConfig(scaling_type=ScalingType.DISABLED, "
        "target_dtype=torch.float8_e4m3fn)",
        "round_scales_to_power_of_2": "True",
    },
}
"""What Float8LinearConfig.from_recipe_name makes of each name."""


def _float8_text(config: Arguments, named: str | None) -> str:
    """The lines of Python that make the configuration."""
    if named is not None:
        call = f'config = Float8LinearConfig.from_recipe_name("{named}")'
        return (
            f"from torchao.float8 import Float8LinearConfig, convert_to_float8_training\n\n{call}\n{_CONVERT}"
        )
    inside = "".join(f"    {key}={value},\n" for key, value in config.items())
    words = ("CastConfig", "Float8GemmConfig", "ScalingGranularity", "ScalingType")
    names = ["Float8LinearConfig", *(word for word in words if f"{word}(" in inside or f"{word}." in inside)]
    torch = "import torch\n" if "torch." in inside else ""
    imports = f"{torch}from torchao.float8 import convert_to_float8_training\n"
    imports += f"from torchao.float8.config import {', '.join(sorted(names))}\n"
    return f"{imports}\nconfig = Float8LinearConfig(\n{inside})\n{_CONVERT}"


_CONVERT = "convert_to_float8_training(model, config=config)\n"


def _blocks(recipe: Recipe, found: Six) -> Export:
    """Float8BlockwiseLinearConfig: lines for x and dy, squares for w, fp32 scales; it takes no arguments."""
    owner = "Float8BlockwiseLinearConfig"
    line, square = TileShape(1, _BLOCK), TileShape(_BLOCK, _BLOCK)
    floors = {one.scale_rule.amax_floor for one in found.values() if one is not None}
    rule = replace(FP32_SCALE, amax_floor=max(floors) if max(floors) <= _FLOOR else 0.0)
    needed = {
        cell: OperandSpec(format=E4M3, tile=square if tensor is LayerTensor.W else line, scale_rule=rule)
        for tensor, cells in READERS.items()
        for cell in cells
    }
    if why := difference(found, {cell: needed[cell] for cell in CELLS}, owner):
        return _none(why)
    if fast := [matmul for matmul in _GEMMS if is_fast(recipe, matmul)]:
        return _none(f"{fast[0].capitalize()} sums fast here, and {owner} always sums it split")
    text = (
        "from torchao.prototype.blockwise_fp8_training.linear import Float8BlockwiseLinearConfig\n"
        "from torchao.quantization import quantize_\n\n"
        "quantize_(model, Float8BlockwiseLinearConfig())\n"
    )
    note = "A prototype of torchao. Its layers have no bias, and sizes that are multiples of a tile."
    return Export(library=LIBRARY, text=text, notes=(note, _FLOOR_NOTE))


def _mx(found: Six) -> Export:
    """MXFP8TrainingOpConfig, which has e4m3 alone."""
    rule = next(operand.scale_rule for operand in found.values() if operand is not None)
    owner = "MXFP8TrainingOpConfig"
    if rule.fit not in _MODES:
        return _none(f"{owner} fits scales by FLOOR or RCEIL, and these are {rule.fit.value}")
    for cell, operand in found.items():
        if operand is not None and operand.format != E4M3:
            return _none(f"{owner} has e4m3 alone, and {cell_words(cell)} is {operand.format.name}")
    kept = all(found[cell] is None for cell in (DY_WGRAD, X_WGRAD))
    made = OperandSpec(format=E4M3, tile=TileShape(1, _MX), scale_rule=replace(E8M0_ROUND_UP, fit=rule.fit))
    needed = {cell: None if kept and cell in (DY_WGRAD, X_WGRAD) else made for cell in CELLS}
    if why := difference(found, needed, owner):
        return _none(why)
    high = "    wgrad_with_hp=True,\n" if kept else ""
    text = (
        "from torchao.prototype.moe_training.config import MXFP8TrainingOpConfig\n"
        "from torchao.prototype.mx_formats.config import ScaleCalculationMode\n"
        "from torchao.quantization import quantize_\n\n"
        "config = MXFP8TrainingOpConfig(\n"
        f"    scale_calculation_mode=ScaleCalculationMode.{_MODES[rule.fit]},\n{high})\n"
        "quantize_(model, config)\n"
    )
    return Export(library=LIBRARY, text=text, notes=("A prototype of torchao; it needs Blackwell.",))


def _nvfp4(found: Six) -> Export:
    """NVFP4TrainingConfig, whose recipe "default" has no switches but the signs of the rotation."""
    owner = "NVFP4TrainingConfig"
    rule = ScaleRule(format=E4M3, fit=Fit.NEAREST, outer=OuterScale(tile=TENSOR))
    turn = Rotation(RotationKind.NVFP4_HADAMARD, len(NVFP4_SIGNS))
    needed = {
        cell: OperandSpec(
            format=E2M1,
            tile=TileShape(_NV, _NV) if tensor is LayerTensor.W else TileShape(1, _NV),
            scale_rule=rule,
            rounding=Rounding.STOCHASTIC if tensor is LayerTensor.DY else Rounding.NEAREST_EVEN,
            rotation=turn if cell in (DY_WGRAD, X_WGRAD) else None,
        )
        for tensor, cells in READERS.items()
        for cell in cells
    }
    if why := difference(found, needed, owner):
        return _none(why)
    text = (
        "from torchao.prototype.moe_training.nvfp4_training.nvfp4_training import NVFP4TrainingConfig\n"
        "from torchao.quantization import quantize_\n\n"
        f"config = NVFP4TrainingConfig(rht_sign_vector={NVFP4_SIGNS})\nquantize_(model, config)\n"
    )
    note = "A prototype of torchao. Without rht_sign_vector each layer draws signs of its own."
    return Export(library=LIBRARY, text=text, notes=(note,))
