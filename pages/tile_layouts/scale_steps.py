"""The way from a tile's largest |x| to its scale, step by step as its rule goes."""

import numpy as np
from numpy.typing import NDArray

from fp8core.operand_scales import tile_errors
from fp8core.recipes import Operand, OperandSpec
from fp8core.scales import NO_SEARCH
from pages.kit.charts.words import log2, power_of_two, short
from pages.tile_layouts.charts.scene import OperandTile

_LARGEST = np.finfo(np.float32).max
Steps = list[tuple[str, str]]
"""A name and its number, in the order in which they are computed."""


def scale_steps(operand: Operand, tile: OperandTile, x: NDArray[np.float32]) -> Steps:
    """From amax to the scale of a tile; `x` are the tile's numbers. Qmax is the codes' largest number."""
    spec, amax = operand.spec, ("amax", np.float32(tile.amax))
    steps = [("amax, the largest |x|", short(tile.amax))]
    if spec.scale_rule.history:
        steps.append(("amax of earlier steps", "none yet: this tensor's own"))
    if spec.scale_rule.search != NO_SEARCH:
        tried, factor = _search(operand, tile, x)
        steps += tried
        amax = (f"amax · {factor:g}", np.float32(tile.amax * factor))
    if spec.scale_rule.has_fitted_outer:
        return steps + _two_levels(spec, tile, *amax)
    steps += _one_level(spec, tile, *amax)
    if tile.outer is not None:
        steps += [
            ("outer scale, a constant", short(tile.outer.scale)),
            ("scale · outer scale", short(tile.exact)),
        ]
    return steps


def _one_level(spec: OperandSpec, tile: OperandTile, name: str, amax: np.float32) -> Steps:
    rule, top = spec.scale_rule, spec.scale_rule.target or spec.format.max
    if not rule.powers_of_two:
        return [(f"scale = {name} / {top:g}", short(tile.scale))]
    exact = f"{short(tile.scale)} = {power_of_two(log2(tile.scale))}"
    return [(f"{name} / {top:g}", short(float(amax) / top)), ("scale: a power of two, rounded", exact)]


def _two_levels(spec: OperandSpec, tile: OperandTile, name: str, amax: np.float32) -> Steps:
    """The inner scale and the outer one, in the order of `fp8core.scales`: each step in fp32."""
    rule, top = spec.scale_rule, np.float32(spec.format.max)
    stop, around = np.float32(rule.outer.inner_max or rule.format.max), np.float32(tile.outer.amax)
    with np.errstate(over="ignore", divide="ignore"):
        enc = np.minimum(top * stop / around, _LARGEST) if around else np.float32(1)
        enc = enc or np.float32(1)
        inner = amax * (enc * (np.float32(1) / top))
    return [
        ("amax of the outer tile, as drawn", short(tile.outer.amax)),
        (f"enc = {top:g} · {stop:g} / that amax", short(float(enc))),
        ("outer scale = 1 / enc", short(tile.outer.scale)),
        (f"{name} · (enc · (1 / {top:g}))", short(float(inner))),
        (f"inner scale: that in {rule.format.name}", short(tile.scale)),
        ("inner · outer scale", short(tile.exact)),
    ]


def _search(operand: Operand, tile: OperandTile, x: NDArray[np.float32]) -> tuple[Steps, float]:
    """The squared error of the tile under each candidate, and the factor of the one that is kept."""
    spec, grid = operand.spec, operand.grid(x.shape)
    rule, outer = spec.scale_rule, np.float32(1 if tile.outer is None else tile.outer.scale)
    above = np.array([[tile.outer.amax]], np.float32) if rule.has_fitted_outer else None
    steps, kept = [], rule.search[0]
    for factor in reversed(rule.search):
        stored = rule.scale(np.array([[tile.amax * factor]], np.float32), spec.format, above)
        error = float(tile_errors(x, operand, grid, stored * outer)[0, 0])
        if float(stored[0, 0]) == tile.scale:
            kept = factor
        steps.insert(0, (f"squared error with amax · {factor:g}", short(error)))
    return steps, kept
