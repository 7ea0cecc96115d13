"""Contract: the figures of a distribution are those that its law has, and do not depend on its size."""

import math

import numpy as np
import pytest

from fp8core.experiments.tensor_shape import BIN, tensor_shape


def test_a_gaussian_has_the_figures_of_its_law() -> None:
    found = tensor_shape(np.random.default_rng(0).standard_normal((400, 400)))
    assert found.rms == pytest.approx(1.0, abs=0.01)
    assert found.kurtosis == pytest.approx(3.0, abs=0.05)
    assert found.octaves == pytest.approx(math.log2(2.5758 / 0.012533), abs=0.05)
    assert found.crest == pytest.approx(4.7, abs=0.8)
    assert found.rows < 1.25
    assert found.columns < 1.25


def test_the_histogram_has_every_element_that_is_not_zero_in_its_bin() -> None:
    x = np.array([[0.0, 1.0, 1.0, 1.0], [4.0, 0.25, 0.25, 0.0]])
    found = tensor_shape(x)
    assert sum(found.shares) == pytest.approx(6 / 8)
    assert found.zeros == 2 / 8
    at = found.bins.index(BIN * math.floor(math.log2(1 / found.rms) / BIN))
    assert found.shares[at] == 3 / 8


def test_rows_and_columns_of_other_sizes_are_told_apart() -> None:
    x = np.random.default_rng(2).standard_normal((200, 200))
    tokens, channels = x * np.geomspace(1, 64, 200)[:, None], x * np.geomspace(1, 64, 200)
    assert tensor_shape(tokens).rows > 30 > 2 > tensor_shape(tokens).columns
    assert tensor_shape(channels).columns > 30 > 2 > tensor_shape(channels).rows
    with pytest.raises(ValueError, match="zeros has no shape"):
        tensor_shape(np.zeros((2, 2)))
