"""Facts about curves of several draws: over the crest factor, and over the tile."""

import numpy as np
import pytest

from fp8core.costs import bits_per_element
from fp8core.errors import rel_err
from fp8core.experiments.error_curves import (
    CREST_POWERS,
    Counted,
    crest_factor,
    over_crest,
    over_tiles,
    powered_gaussian,
    sqnr_of,
)
from fp8core.experiments.read_back import as_bf16, read_back
from fp8core.inputs import InputKind, draw
from fp8core.linear import FPROP, Side
from fp8core.recipes import RECIPES

SHAPE = (16, 128)
SEEDS = range(3)


def operand(recipe: str):
    return RECIPES[recipe].operand(FPROP, Side.A)


def test_the_power_of_a_gaussian_sets_the_crest_factor() -> None:
    crests = [crest_factor(powered_gaussian(power, SHAPE, 0)) for power in CREST_POWERS]
    assert crests == sorted(crests)
    assert crest_factor(powered_gaussian(0.0, SHAPE, 0)) == 1
    gaussian = np.random.default_rng(4).standard_normal(SHAPE)
    np.testing.assert_array_equal(powered_gaussian(1.0, SHAPE, 4), as_bf16(gaussian))


def test_every_point_keeps_every_draw() -> None:
    points = over_crest(operand("mxfp4"), SHAPE, SEEDS, powers=(1.0, 3.0))
    for power, point in zip((1.0, 3.0), points, strict=True):
        drawn = [powered_gaussian(power, SHAPE, seed) for seed in SEEDS]
        assert point.sqnr_db == tuple(sqnr_of(x, operand("mxfp4")) for x in drawn)
        assert point.at == pytest.approx(np.mean([crest_factor(x) for x in drawn]))
        assert point.low < point.mean < point.high
        assert point.bits == bits_per_element(operand("mxfp4"), SHAPE)


def test_the_smaller_half_is_counted_by_itself() -> None:
    x = as_bf16(draw(InputKind.OUTLIER_CHANNELS, SHAPE, 0))
    small = np.abs(x) < np.median(np.abs(x))
    read = read_back(x, operand("mxfp4"))
    found = sqnr_of(x, operand("mxfp4"), counted=Counted.SMALLER_HALF)
    assert found == pytest.approx(-20 * np.log10(rel_err(read.values[small], x[small])))
    assert found < sqnr_of(x, operand("mxfp4")) - 3


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_longer_tile_has_fewer_scale_bits_and_one_line(recipe) -> None:
    given = operand(recipe)
    if given is None:
        pytest.skip("it stays bf16")
    drawn = [as_bf16(draw(InputKind.GAUSSIAN, SHAPE, seed)) for seed in SEEDS]
    points = over_tiles(given, drawn, (8, 32, 128))
    assert [point.at for point in points] == [8, 32, 128]
    bits = [point.bits for point in points]
    assert bits == sorted(bits, reverse=True)
    assert bits[0] > bits[-1]
