"""Facts about the errors of y, dx and dw."""

import numpy as np
import pytest

from fp8core.errors import rel_err
from fp8core.experiments.layer_error import layer_errors, product, result_error, truths
from fp8core.experiments.read_back import as_bf16, read_back
from fp8core.inputs import InputKind, draw_operand
from fp8core.linear import MATMULS, OPERANDS, LayerShape, LayerTensor, Side
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
