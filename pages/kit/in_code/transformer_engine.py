"""A recipe as Transformer Engine's: the class of transformer_engine.common.recipe and its arguments.

Source: transformer_engine/common/recipe/__init__.py; `assets/peers/transformer_engine.json` says in which
version. Each class makes six operands; a recipe is expressed where its operands are these.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from fp8core.formats import Format
from fp8core.linear import LayerTensor
from fp8core.recipes import OperandSpec, Recipe
from fp8core.rotations import NVFP4_SIGNS, Rotation, RotationKind
from fp8core.rounding import Rounding
from fp8core.scales import E8M0_ROUND_UP, FP32_SCALE, NO_SEARCH, Fit, OuterScale, ScaleRule
from fp8core.tiles import TileShape
from pages.kit.in_code.export import (
    CELLS,
    DY_DGRAD,
    DY_WGRAD,
    E2M1,
    E4M3,
    E5M2,
    READERS,
    TENSOR,
    W_FPROP,
    X_FPROP,
    X_WGRAD,
    Cell,
    Export,
    difference,
    is_fast,
    operands,
    tile_words,
)

LIBRARY = "Transformer Engine"
_MODULE, _LAYERS = "transformer_engine.common.recipe", "transformer_engine.pytorch"
_LAYER = """layer = te.Linear(4096, 4096, params_dtype=torch.bfloat16)
with te.autocast(enabled=True, recipe=recipe):
    y = layer(x)
"""
_BLOCK, _MX, _NV = 128, 32, 16
_POWERS = "NVTE_FP8_CURRENT_SCALING_POWER_2_SCALES"
_FP32_BLOCKS = "NVTE_FP8_BLOCK_SCALING_FP32_SCALES"
_SEARCH = (1.0, 1.5)

Six = Mapping[Cell, OperandSpec | None]


def transformer_engine(recipe: Recipe) -> Export:
    """The recipe in Transformer Engine's words, or why it has none."""
    found = operands(recipe)
    if found[X_FPROP] is None or found[W_FPROP] is None:
        return _none("every class quantizes both operands of Fprop, and one of them stays bf16 here")
    backward = [found[cell] for cell in CELLS[2:]]
    keeps = all(operand is None for operand in backward)
    if not keeps and None in backward:
        return _none("Dgrad and Wgrad are quantized together there, or stay bf16 together")
    made = _class_for(found[X_FPROP])
    if made is None:
        x = found[X_FPROP]
        return _none(f"no class of {_MODULE} has {x.format.name} in tiles of {tile_words(x.tile)}")
    return made(recipe, found, keeps)


def _none(why: str) -> Export:
    return Export(library=LIBRARY, text=None, why=f"Transformer Engine cannot express it: {why}.")


def _class_for(x: OperandSpec) -> Callable[[Recipe, Six, bool], Export] | None:
    """What writes the class whose operands are most like one."""
    if x.format == E2M1:
        return _nvfp4
    if x.tile == TENSOR:
        return _delayed if x.scale_rule.history else _current
    return {_BLOCK: _blocks, _MX: _mxfp8}.get(x.tile.k or 0)


def _fp8_format(found: Six) -> tuple[str, Format, Format]:
    """Format.HYBRID where dy is e5m2, else Format.E4M3; the formats of x and w, and of dy."""
    dy = found[DY_DGRAD]
    hybrid = dy is not None and dy.format == E5M2
    return ("Format.HYBRID", E4M3, E5M2) if hybrid else ("Format.E4M3", E4M3, E4M3)


def _six(tiles: Mapping[LayerTensor, TileShape], forward: Format, back: Format, rule: ScaleRule) -> Six:
    """Six operands, the tiles by tensor, rounded to nearest even."""
    return {
        cell: OperandSpec(
            format=back if tensor is LayerTensor.DY else forward, tile=tiles[tensor], scale_rule=rule
        )
        for tensor, cells in READERS.items()
        for cell in cells
    }


def _checked(found: Six, needed: Six, keeps: bool, owner: str) -> str:
    """Why operands are not those of a class; a backward pass that stays bf16 has none."""
    if keeps:
        needed = {cell: operand if cell in CELLS[:2] else None for cell, operand in needed.items()}
    return difference(found, needed, owner)


def _written(name: str, arguments: Mapping[str, str], keeps: bool, environment: tuple[str, ...] = ()) -> str:
    """The lines of Python that make the recipe."""
    if keeps:
        arguments = {**arguments, "backward_override": '"high_precision"'}
    names = sorted(
        {name} | {word for word in ("Format", "MMParams") for a in arguments.values() if word in a}
    )
    lines = [f'os.environ["{one}"] = "1"  # before the import, which reads it' for one in environment]
    head = ["import os", "", *lines, ""] if lines else []
    inside = "".join(f"    {key}={value},\n" for key, value in arguments.items())
    call = f"{name}(\n{inside})" if arguments else f"{name}()"
    imports = ["import torch", f"import {_LAYERS} as te", f"from {_MODULE} import {', '.join(names)}"]
    return "\n".join([*head, *imports, "", f"recipe = {call}", _LAYER])


def _delayed(recipe: Recipe, found: Six, keeps: bool) -> Export:
    owner, (name, forward, back) = "DelayedScaling", _fp8_format(found)
    if keeps:
        return _none("DelayedScaling takes no backward_override, and Dgrad and Wgrad stay bf16 here")
    steps = found[X_FPROP].scale_rule.history
    needed = _six(dict.fromkeys(READERS, TENSOR), forward, back, replace(FP32_SCALE, history=steps))
    if why := _checked(found, needed, keeps, owner) or _split(recipe, owner, fast=("fprop",)):
        return _none(why)
    arguments = {"fp8_format": name, "amax_history_len": str(steps), "amax_compute_algo": '"max"'}
    notes = ("Its first step takes a scale of 1; here it takes the tensor's own amax.",)
    return Export(library=LIBRARY, text=_written(owner, arguments, keeps), notes=notes)


def _split(recipe: Recipe, owner: str, fast: tuple[str, ...] = ()) -> str:
    """Why the sums are not those of a class, which are split in all matmuls but the `fast` ones."""
    for matmul in ("fprop", "dgrad", "wgrad"):
        if is_fast(recipe, matmul) != (matmul in fast):
            here, there = ("fast", "split") if matmul not in fast else ("split", "fast")
            return f"{matmul.capitalize()} sums {here} here, and {owner} always sums it {there}"
    return ""


def _current(recipe: Recipe, found: Six, keeps: bool) -> Export:
    owner, (name, forward, back) = "Float8CurrentScaling", _fp8_format(found)
    rule = found[X_FPROP].scale_rule
    needed = _six(dict.fromkeys(READERS, TENSOR), forward, back, _per_tensor_rule(rule))
    if why := _checked(found, needed, keeps, owner):
        return _none(why)
    arguments = {"fp8_format": name}
    for matmul, usual in (("fprop", True), ("dgrad", False), ("wgrad", False)):
        if not (keeps and matmul != "fprop") and is_fast(recipe, matmul) != usual:
            arguments[f"fp8_gemm_{matmul}"] = f"MMParams(use_split_accumulator={usual})"
    environment = (_POWERS,) if rule.powers_of_two else ()
    return Export(library=LIBRARY, text=_written(owner, arguments, keeps, environment))


def _per_tensor_rule(rule: ScaleRule) -> ScaleRule:
    """fp32 scales, or powers of two in whatever format, as the recipe has them."""
    return replace(E8M0_ROUND_UP, format=rule.format) if rule.fit is Fit.ROUND_UP else FP32_SCALE


def _blocks(recipe: Recipe, found: Six, keeps: bool) -> Export:
    owner, (name, forward, back) = "Float8BlockScaling", _fp8_format(found)
    line, square = TileShape(1, _BLOCK), TileShape(_BLOCK, _BLOCK)
    tiles = {
        tensor: square if (one := found[cells[0]]) is not None and one.tile == square else line
        for tensor, cells in READERS.items()
    }
    rule = found[X_FPROP].scale_rule
    needed = _six(tiles, forward, back, _per_tensor_rule(rule))
    if why := _checked(found, needed, keeps, owner) or _split(recipe, owner):
        return _none(why)
    if list(tiles.values()).count(square) > 1:
        return _none(f"{owner} multiplies no two operands in square tiles")
    dims = zip(("x", "w", "grad"), READERS, (1, 2, 1), strict=True)
    arguments = {"fp8_format": name} | {
        f"{short}_block_scaling_dim": str(dim)
        for short, tensor, usual in dims
        if (dim := 2 if tiles[tensor] == square else 1) != usual
    }
    environment = () if rule.powers_of_two else (_FP32_BLOCKS,)
    return Export(library=LIBRARY, text=_written(owner, arguments, keeps, environment))


def _mxfp8(recipe: Recipe, found: Six, keeps: bool) -> Export:
    owner, (name, forward, back) = "MXFP8BlockScaling", _fp8_format(found)
    line, square = TileShape(1, _MX), TileShape(_MX, _MX)
    is_square = found[W_FPROP].tile == square
    tiles = {tensor: square if tensor is LayerTensor.W and is_square else line for tensor in READERS}
    needed = _six(tiles, forward, back, E8M0_ROUND_UP)
    if why := _checked(found, needed, keeps, owner):
        return _none(why)
    arguments = {"fp8_format": name} | ({"enable_2d_quantization": "True"} if is_square else {})
    notes = (_CORE,)
    return Export(library=LIBRARY, text=_written(owner, arguments, keeps), notes=notes)


_CORE = "It needs Blackwell, whose tensor core multiplies the scales itself."


def _nvfp4(recipe: Recipe, found: Six, keeps: bool) -> Export:
    """NVFP4 with its three switches, and Four Over Six for weights, activations or both."""
    owner = "NVFP4BlockScaling"
    plain = ScaleRule(format=E4M3, fit=Fit.NEAREST, outer=OuterScale(tile=TENSOR))
    x, w, dy, turned = (found[cell] for cell in (X_FPROP, W_FPROP, DY_DGRAD, X_WGRAD))
    square = w.tile.mn != 1
    rotated = turned is not None and turned.rotation is not None
    random = dy is not None and dy.is_random
    chosen = {
        LayerTensor.X: x.scale_rule.search != NO_SEARCH,
        LayerTensor.W: w.scale_rule.search != NO_SEARCH,
    }
    if rotated and any(chosen.values()):
        return _none(f"{owner} does not yet combine 4over6 with a rotation, and Wgrad's operands are rotated")
    tops = {one.scale_rule.outer.inner_max for one in (x, w) if one.scale_rule.outer and _searches(one)}
    needed = {}
    for tensor, cells in READERS.items():
        search = chosen.get(tensor, False)
        rule = replace(plain, search=_SEARCH, outer=_outer(tops)) if search else plain
        for cell in cells:
            needed[cell] = OperandSpec(
                format=E2M1,
                tile=TileShape(_NV, _NV) if tensor is LayerTensor.W and square else TileShape(1, _NV),
                scale_rule=rule,
                rounding=Rounding.STOCHASTIC
                if tensor is LayerTensor.DY and random
                else Rounding.NEAREST_EVEN,
                rotation=_RHT if cell in (DY_WGRAD, X_WGRAD) and rotated else None,
            )
    if why := _checked(found, needed, keeps, owner):
        return _none(why)
    arguments = {
        key: "True"
        for key, is_off in (
            ("disable_rht", not rotated),
            ("disable_stochastic_rounding", not random),
            ("disable_2d_quantization", not square),
        )
        if is_off and not (keeps and key != "disable_2d_quantization")
    }
    if any(chosen.values()):
        scope = "all" if all(chosen.values()) else "activations" if chosen[LayerTensor.X] else "weights"
        arguments |= {"nvfp4_4over6": f'"{scope}"', "nvfp4_4over6_err_mode": '"MSE"'}
        if tops == {None}:
            arguments["nvfp4_4over6_e4m3_use_256"] = '"none"'
    return Export(library=LIBRARY, text=_written(owner, arguments, keeps), notes=(_CORE,))


_RHT = Rotation(RotationKind.NVFP4_HADAMARD, len(NVFP4_SIGNS))


def _searches(operand: OperandSpec) -> bool:
    return operand.scale_rule.search != NO_SEARCH


def _outer(tops: set[float | None]) -> OuterScale:
    """The outer scale of operands with a search: 448, or 256 as Four Over Six has it."""
    return OuterScale(tile=TENSOR, inner_max=None if tops == {None} else 256)
