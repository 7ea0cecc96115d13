"""Contract: a seed draws the same layers everywhere, of the kinds that are promised."""

import pytest

from kernels.bench.any_shape import draw_shapes
from kernels.bench.any_shape.draw import MODELS

MANY = draw_shapes(2000, 1)
OF_MODELS = {pair for model in MODELS for pair in model}


def test_a_seed_draws_the_same_layers_and_a_longer_draw_begins_with_them():
    assert draw_shapes(2000, 1) == MANY
    assert draw_shapes(60, 1) == MANY[:60]
    assert draw_shapes(60, 2) != MANY[:60]
    first = draw_shapes(1, 0)[0]
    assert (first.tokens, first.in_, first.out) == (3620, 1968, 896)
    assert draw_shapes(0, 0) == ()


def test_half_the_layers_are_those_of_models():
    share = sum((shape.in_, shape.out) in OF_MODELS for shape in MANY) / len(MANY)
    assert share == pytest.approx(0.49, abs=0.05)
    assert {(shape.in_, shape.out) for shape in MANY} >= OF_MODELS
