"""Facts about the error of one operand: its splits add up, and its figures are those of the codes."""

from dataclasses import replace

import numpy as np
import pytest

from fp8core.errors import split_error
from fp8core.experiments.operand_error import operand_error, tile_sums
from fp8core.experiments.read_back import as_bf16, read_back
from fp8core.inputs import LAWS, draw
from fp8core.linear import MATMULS, Side
from fp8core.philox import random_bits
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES
from fp8core.rounding import Rounding
from fp8core.tiles import TileGrid

SHAPE = (64, 160)
ROLES = {
    RECIPES[recipe].operand(matmul, side): (recipe, matmul.name, side)
    for recipe in reversed(RECIPES)
    for matmul in MATMULS.values()
    for side in Side
    if RECIPES[recipe].operand(matmul, side) is not None
}
ROLES = list(ROLES.values())
"""Each operand once."""
NAMES = [f"{recipe}-{matmul}-{side.value}" for recipe, matmul, side in ROLES]


def numbers(seed: int, shape: tuple[int, int] = SHAPE) -> np.ndarray:
    kinds = LAWS
    return as_bf16(draw(kinds[seed % len(kinds)], shape, seed))


def read(role: tuple[str, str, Side], seed: int):
    recipe, matmul, side = role
    return read_back(numbers(seed), RECIPES[recipe].operand(MATMULS[matmul], side), seed)


@pytest.mark.parametrize("role", ROLES, ids=NAMES)
def test_every_split_adds_up_to_the_squared_error(role) -> None:
    found = read(role, seed=len(str(role)))
    error = operand_error(found)
    direct = np.sum((found.values - found.given) ** 2) / np.sum(found.given**2)
    assert error.total == pytest.approx(direct, rel=1e-12)
    scale = found.grid.expand(np.where(found.scale == 0, 1, found.scale))
    split = split_error(found.made_of, found.values, scale, found.operand.spec.format)
    was = np.sum(found.made_of**2) / np.sum(found.given**2)
    for name in ("saturation", "deadzone", "grid"):
        share = getattr(error.parts, name)
        assert share == pytest.approx(was * getattr(split, name), rel=1e-9, abs=1e-12), name
    assert (error.parts.saturated, error.parts.dead) == (split.saturated, split.dead)
    by_element = error.parts.total + error.before.second + error.before.cross
    assert by_element == pytest.approx(error.total, rel=1e-9, abs=1e-15)
    assert error.bias.total == pytest.approx(error.total, rel=1e-9, abs=1e-15)
    assert error.shrunk + error.beside == pytest.approx(error.total, rel=1e-12)
    assert error.before.first == pytest.approx(error.parts.total, rel=1e-9)
    # What no factor mends is at a right angle to x: it is the error after the best factor.
    beside = found.values - error.alpha * found.given
    assert error.beside == pytest.approx(np.sum(beside**2) / np.sum(found.given**2), rel=1e-6)


@pytest.mark.parametrize("role", ROLES, ids=NAMES)
def test_what_is_read_back_is_what_the_codes_stand_for(role) -> None:
    recipe, matmul, side = role
    operand = RECIPES[recipe].operand(MATMULS[matmul], side)
    x, bits = numbers(3), None
    if operand.spec.is_random:
        bits = random_bits(operand.stored(SHAPE), 5)
        bits = np.ascontiguousarray(bits.T) if operand.k_is_rows else bits
    made = quantize(x, operand, random=bits)
    found = read_back(x, operand, seed=5)
    np.testing.assert_array_equal(found.values, made.exact_values())
    if operand.spec.rotation is None:
        np.testing.assert_array_equal(found.given, x)
    else:
        assert not np.array_equal(found.given, x)
        np.testing.assert_allclose(found.in_place(found.given), x, rtol=1e-12, atol=1e-12)


def test_the_log_counts_zeros_overflows_and_scales_of_the_codes() -> None:
    operand = RECIPES["mxfp8_floor"].operand(MATMULS["fprop"], Side.A)
    x = numbers(1)
    made, error = quantize(x, operand), operand_error(read_back(x, operand))
    logged, scale = error.logged, made.grid.expand(made.scale)
    assert logged.underflows == 100 * np.mean(made.exact_values() == 0)
    assert logged.overflows == 100 * np.mean(np.abs(x) > operand.spec.format.max * scale) > 0
    assert logged.mse == pytest.approx(np.mean((made.exact_values() - x) ** 2))
    assert (logged.scale_inv_min, logged.scale_inv_max) == (made.scale.min(), made.scale.max())


def test_scale_bias_is_zero_where_the_scale_is_the_ideal_one() -> None:
    x = numbers(0)
    operand = RECIPES["mxfp8"].operand(MATMULS["fprop"], Side.A)
    grid = operand.grid(SHAPE)
    exact = x / grid.expand(grid.amax(x)) * np.float32(operand.spec.format.max)
    for rounding in (Rounding.NEAREST_EVEN, Rounding.STOCHASTIC):
        own = replace(operand, spec=replace(operand.spec, rounding=rounding))
        assert operand_error(read_back(exact, own, 3)).bias.first == pytest.approx(0, abs=1e-12)
    assert operand_error(read_back(x, operand)).bias.first > 1e-5


def test_sums_over_tiles_keep_partial_tiles_at_the_edge() -> None:
    x = np.arange(35.0).reshape(5, 7)
    sums = tile_sums(x, TileGrid.over((5, 7), (2, 3)))
    assert sums.shape == (3, 3)
    assert sums[2, 2] == x[4:, 6:].sum()
    assert sums.sum() == x.sum()


@pytest.mark.parametrize("seed", range(3))
def test_lines_hold_all_of_the_error_and_the_signal(seed) -> None:
    found = read(ROLES[seed * 7], seed)
    error = operand_error(found)
    for lines, axis in ((error.channels, 0), (error.tokens, 1)):
        assert lines.energy.shape == (SHAPE[1 - axis],)
        assert lines.error.sum() / lines.energy.sum() == pytest.approx(error.total, rel=1e-9)
