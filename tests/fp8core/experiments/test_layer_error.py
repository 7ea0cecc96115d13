"""Facts about the errors of y, dx and dw."""

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
from fp8core.experiments.layer_error import layer_errors, product, result_error, truths
from fp8core.experiments.read_back import as_bf16, read_back
from fp8core.inputs import InputKind, draw, draw_operand
from fp8core.linear import FPROP, MATMULS, OPERANDS, LayerShape, LayerTensor, Side
from fp8core.recipes import RECIPES

SHAPE = LayerShape(32, 64, 48)


def tensors(seed: int = 0) -> dict[LayerTensor, np.ndarray]:
    return {
        tensor: as_bf16(
            draw_operand(InputKind.HEAVY_TAIL, tensor, SHAPE.of(tensor), 3 * seed + place, fan_in=SHAPE.in_)
        )
        for place, tensor in enumerate(OPERANDS)
    }


def test_truths_are_the_three_products_of_a_layer() -> None:
    x, w, dy = (tensors()[tensor].astype(np.float64) for tensor in OPERANDS)
    exact = truths(tensors())
    for name, direct in (("fprop", x @ w.T), ("dgrad", dy @ w), ("wgrad", dy.T @ x)):
        assert exact[name].shape == SHAPE.of(MATMULS[name].d)
        np.testing.assert_allclose(exact[name], direct, rtol=1e-12)


@pytest.mark.parametrize("recipe", RECIPES)
def test_errors_are_those_of_the_operands_multiplied_in_float64(recipe) -> None:
    given, exact = tensors(2), truths(tensors(2))
    found = layer_errors(RECIPES[recipe], given, exact, seed=1)
    for name, matmul in MATMULS.items():
        operands = {side: RECIPES[recipe].operand(matmul, side) for side in Side}
        if not any(operands.values()):
            assert found[name].rel_err == found[name].off_cosine == 0
            continue
        assert 0 < found[name].rel_err < 0.5
        if any(operand and operand.spec.is_random for operand in operands.values()):
            continue
        read = {
            side: given[matmul.operand(side)]
            if operand is None
            else read_back(given[matmul.operand(side)], operand).values
            for side, operand in operands.items()
        }
        assert found[name].rel_err == pytest.approx(rel_err(product(matmul, read), exact[name]), rel=1e-12)


def test_a_rotation_of_both_operands_cancels() -> None:
    """Unrotated operands with the error of rotated ones would give an error of about √2."""
    found = layer_errors(RECIPES["nvfp4"], tensors(), truths(tensors()))
    assert found["wgrad"].rel_err < 0.3


def test_one_minus_the_cosine_keeps_its_digits() -> None:
    rng = np.random.default_rng(0)
    truth, noise = rng.standard_normal((2, 30, 40))
    for size in (1e-2, 1e-6):
        found = result_error(truth + size * noise, truth)
        flat = (truth + size * noise).ravel(), truth.ravel()
        cosine = np.vdot(*flat) / np.prod([np.linalg.norm(one) for one in flat])
        assert found.off_cosine == pytest.approx(1 - cosine, rel=1e-3, abs=1e-16)
        assert 0 < found.off_cosine < size**2
    assert result_error(truth, truth).cosine == 1
    assert result_error(0 * truth, truth).off_cosine == 1
    assert result_error(-truth, truth).cosine == pytest.approx(-1)


CURVE_SHAPE = (16, 128)
SEEDS = range(3)


def operand(recipe: str):
    return RECIPES[recipe].operand(FPROP, Side.A)


def test_the_power_of_a_gaussian_sets_the_crest_factor() -> None:
    crests = [crest_factor(powered_gaussian(power, CURVE_SHAPE, 0)) for power in CREST_POWERS]
    assert crests == sorted(crests)
    assert crest_factor(powered_gaussian(0.0, CURVE_SHAPE, 0)) == 1
    gaussian = np.random.default_rng(4).standard_normal(CURVE_SHAPE)
    np.testing.assert_array_equal(powered_gaussian(1.0, CURVE_SHAPE, 4), as_bf16(gaussian))


def test_every_point_keeps_every_draw() -> None:
    points = over_crest(operand("mxfp4"), CURVE_SHAPE, SEEDS, powers=(1.0, 3.0))
    for power, point in zip((1.0, 3.0), points, strict=True):
        drawn = [powered_gaussian(power, CURVE_SHAPE, seed) for seed in SEEDS]
        assert point.sqnr_db == tuple(sqnr_of(x, operand("mxfp4")) for x in drawn)
        assert point.at == pytest.approx(np.mean([crest_factor(x) for x in drawn]))
        assert point.low < point.mean < point.high
        assert point.bits == bits_per_element(operand("mxfp4"), CURVE_SHAPE)


def test_the_smaller_half_is_counted_by_itself() -> None:
    x = as_bf16(draw(InputKind.OUTLIER_CHANNELS, CURVE_SHAPE, 0))
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
    drawn = [as_bf16(draw(InputKind.GAUSSIAN, CURVE_SHAPE, seed)) for seed in SEEDS]
    points = over_tiles(given, drawn, (8, 32, 128))
    assert [point.at for point in points] == [8, 32, 128]
    bits = [point.bits for point in points]
    assert bits == sorted(bits, reverse=True)
    assert bits[0] > bits[-1]
