"""A recipe as torchao's: Float8LinearConfig, or a training configuration of its MX and NVFP4 prototypes.

Sources: torchao/float8/config.py, torchao/prototype/moe_training/config.py and nvfp4_training.py there (main
of September 2026); MXLinearConfig is that of torchao/prototype/mx_formats until early 2026.
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
from pages.sections.design.export import (
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
_MX, _NV = 32, 16
_DTYPES = {"e4m3": "torch.float8_e4m3fn", "e5m2": "torch.float8_e5m2"}
_ELEMENTS = {**_DTYPES, "e3m2": '"fp6_e3m2"', "e2m3": '"fp6_e2m3"', "e2m1": "torch.float4_e2m1fn_x2"}
_MODES = {Fit.FLOOR: "FLOOR", Fit.ROUND_UP: "RCEIL", Fit.CEIL: "CEIL", Fit.EVEN: "EVEN"}
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


def _mx(found: Six) -> Export:
    """MXFP8TrainingOpConfig for e4m3; MXLinearConfig, emulated, for the other formats."""
    rule = next(operand.scale_rule for operand in found.values() if operand is not None)
    if rule.fit not in _MODES:
        return _none("its MX prototypes fit scales by FLOOR, RCEIL, CEIL or EVEN, and these are divided")
    formats = {operand.format for operand in found.values() if operand is not None}
    narrow = formats != {E4M3}
    owner = "MXLinearConfig" if narrow else "MXFP8TrainingOpConfig"
    kept = not narrow and all(found[cell] is None for cell in (DY_WGRAD, X_WGRAD))
    by_tensor = {}
    for tensor, cells in READERS.items():
        read = next((operand for cell in cells if (operand := found[cell]) is not None), None)
        if read is None or read.format.name not in _ELEMENTS:
            name = "bf16" if read is None else read.format.name
            return _none(f"{owner} has no element {name}, and {tensor.value} is that here")
        by_tensor[tensor] = read.format
    needed: dict[Cell, OperandSpec | None] = {
        cell: OperandSpec(
            format=by_tensor[tensor], tile=TileShape(1, _MX), scale_rule=replace(E8M0_ROUND_UP, fit=rule.fit)
        )
        for tensor, cells in READERS.items()
        for cell in cells
    }
    if kept:
        needed |= {DY_WGRAD: None, X_WGRAD: None}
    if why := difference(found, {cell: needed[cell] for cell in CELLS}, owner):
        return _none(why)
    mode = f"ScaleCalculationMode.{_MODES[rule.fit]}"
    return _mx_linear(by_tensor, mode) if narrow else _mx_training(mode, kept)


def _mx_training(mode: str, kept: bool) -> Export:
    high = "    wgrad_with_hp=True,\n" if kept else ""
    text = (
        "from torchao.prototype.moe_training.config import MXFP8TrainingOpConfig\n"
        "from torchao.prototype.mx_formats.config import ScaleCalculationMode\n"
        "from torchao.quantization import quantize_\n\n"
        f"config = MXFP8TrainingOpConfig(\n    scale_calculation_mode={mode},\n{high})\n"
        "quantize_(model, config)\n"
    )
    return Export(library=LIBRARY, text=text, notes=("A prototype of torchao; it needs Blackwell.",))


def _mx_linear(by_tensor: Mapping[LayerTensor, Format], mode: str) -> Export:
    x, w, dy = (_ELEMENTS[by_tensor[tensor].name] for tensor in READERS)
    more = "".join(
        f"    elem_dtype_{name}_override={value},\n"
        for name, value in (("weight", w), ("grad_output", dy))
        if value != x
    )
    torch = "import torch\n" if "torch." in x + more else ""
    text = (
        f"{torch}from torchao.prototype.mx_formats import MXLinearConfig\n"
        "from torchao.prototype.mx_formats.config import MXGemmKernelChoice, ScaleCalculationMode\n"
        "from torchao.quantization import quantize_\n\n"
        f"config = MXLinearConfig(\n    block_size={_MX},\n    elem_dtype={x},\n{more}"
        "    gemm_kernel_choice=MXGemmKernelChoice.EMULATED,\n"
        f"    scale_calculation_mode={mode},\n)\nquantize_(model, config)\n"
    )
    note = "A prototype of 2025: it dequantizes and multiplies in high precision. Later versions lack it."
    return Export(library=LIBRARY, text=text, notes=(note,))


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
