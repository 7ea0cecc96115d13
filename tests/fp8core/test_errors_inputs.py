"""Contract: errors are their formulas; inputs are seeded and have the shape of statistics they claim."""

import math

import numpy as np
import pytest

from fp8core.errors import rel_err, sqnr_db
from fp8core.inputs import (
    INPUT_NOTES,
    LAWS,
    OFFERED,
    OUTLIER_EVERY,
    OUTLIER_FACTOR,
    InputKind,
    draw,
    draw_operand,
    kind_of,
)
from fp8core.linear import OPERANDS, LayerTensor


def test_rel_err_and_sqnr() -> None:
    assert rel_err([3.0, 4.0], [3.0, 4.0]) == 0.0
    assert rel_err([3.0, 4.5], [3.0, 4.0]) == pytest.approx(0.1)
    assert rel_err([0.0], [0.0]) == 0.0
    assert rel_err([1.0], [0.0]) == math.inf
    assert sqnr_db(0.1) == pytest.approx(20.0)
    assert sqnr_db(0.0) == math.inf
    with pytest.raises(ValueError, match="one shape"):
        rel_err([1.0], [1.0, 2.0])


@pytest.mark.parametrize("kind", OFFERED)
def test_equal_seeds_give_equal_inputs_and_others_do_not(kind) -> None:
    np.testing.assert_array_equal(draw(kind, (8, 200), 3), draw(kind, (8, 200), 3))
    # In the first layer equal bytes have equal rows, and a text has many spaces in a row.
    assert (draw(kind, (64, 200), 3) != draw(kind, (64, 200), 4)).any()
    assert draw(kind, (0, 5), 0).shape == (0, 5)
    assert draw(kind, (8, 200), 3).dtype == np.float32
    assert INPUT_NOTES[kind].rule


def test_inputs_have_the_statistics_they_are_named_for() -> None:
    gaussian = draw(InputKind.GAUSSIAN, (500, 500), 0)
    assert gaussian.std() == pytest.approx(1.0, abs=4 / 500)
    columns = draw(InputKind.OUTLIER_CHANNELS, (500, 500), 0).std(axis=0)
    assert (columns > OUTLIER_FACTOR / 2).sum() == len(range(OUTLIER_EVERY // 2, 500, OUTLIER_EVERY))
    mild = draw(InputKind.OUTLIER_CHANNELS, (500, 500), 0, outlier_factor=5.0).std(axis=0)
    np.testing.assert_allclose(columns / mild, np.where(columns > 2, OUTLIER_FACTOR / 5, 1.0), rtol=1e-5)
    rows = draw(InputKind.OUTLIER_TOKENS, (500, 500), 0).std(axis=1)
    assert np.flatnonzero(rows > OUTLIER_FACTOR / 2).tolist() == [*range(0, 500, OUTLIER_EVERY)]
    tail = draw(InputKind.HEAVY_TAIL, (500, 500), 0)
    assert np.mean(np.abs(tail) > 4.604) == pytest.approx(0.01, abs=4 * math.sqrt(0.01 / 250_000))
    gradient = np.abs(draw(InputKind.GRADIENT_LIKE, (500, 500), 0))
    rows = np.log(gradient.mean(axis=1))
    assert rows.std() == pytest.approx(2.0, rel=0.15)
    assert np.median(gradient) < 1e-5


@pytest.mark.parametrize("kind", LAWS)
def test_only_activations_have_outlier_channels_and_weights_have_the_size_of_fan_in(kind) -> None:
    with_outliers = [tensor for tensor in OPERANDS if kind_of(kind, tensor) is InputKind.OUTLIER_CHANNELS]
    assert with_outliers == ([LayerTensor.X] if kind is InputKind.OUTLIER_CHANNELS else [])
    w = draw_operand(kind, LayerTensor.W, (400, 4 * OUTLIER_EVERY), 0, fan_in=4096)
    columns = w.std(axis=0)
    assert columns.max() < 3 * np.median(columns)
    size = 1.0 if kind is InputKind.GAUSSIAN else 1 / 64
    assert np.median(np.abs(w)) == pytest.approx(0.7 * size, rel=0.1)
