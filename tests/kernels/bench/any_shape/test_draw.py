"""Contract: a seed draws the same layers everywhere, of the kinds that are promised."""

import pytest

from kernels.bench.any_shape import draw_shapes
from kernels.bench.any_shape.draw import LARGEST, MAX_TOKENS, MODELS, NARROWEST, WIDEST

MANY = draw_shapes(2000, 1)
OF_MODELS = {pair for model in MODELS for pair in model}


def test_a_seed_draws_the_same_layers_and_a_longer_draw_begins_with_them():
    assert draw_shapes(2000, 1) == MANY
    assert draw_shapes(60, 1) == MANY[:60]
    assert draw_shapes(60, 2) != MANY[:60]
    first = draw_shapes(1, 0)[0]
    assert (first.tokens, first.in_, first.out) == (3620, 1968, 896)
    assert draw_shapes(0, 0) == ()


def test_tokens_are_log_uniform_and_any_number():
    tokens = [shape.tokens for shape in MANY]
    assert min(tokens) == 1
    assert MAX_TOKENS // 2 < max(tokens) <= MAX_TOKENS
    below = sum(count < 128 for count in tokens) / len(tokens)  # the root of MAX_TOKENS: half of them
    assert below == pytest.approx(0.5, abs=0.05)
    assert sum(count % 2 for count in tokens) > len(tokens) / 4


def test_half_the_layers_are_those_of_models():
    share = sum((shape.in_, shape.out) in OF_MODELS for shape in MANY) / len(MANY)
    assert share == pytest.approx(0.49, abs=0.05)
    assert {(shape.in_, shape.out) for shape in MANY} >= OF_MODELS


def test_the_other_features_are_multiples_of_16_and_one_layer_in_fifty_is_larger_than_usual():
    drawn = [
        size for shape in MANY if (shape.in_, shape.out) not in OF_MODELS for size in (shape.in_, shape.out)
    ]
    assert {size % 16 for size in drawn} == {0}
    assert min(drawn) >= NARROWEST
    assert LARGEST / 2 < max(drawn) <= LARGEST
    usual = [s for n, s in enumerate(MANY, 1) if n % 50 and (s.in_, s.out) not in OF_MODELS]
    assert max(max(shape.in_, shape.out) for shape in usual) <= WIDEST
    large = [max(shape.in_, shape.out) for shape in MANY[49::50]]
    assert len(large) == len(MANY) / 50
    assert min(large) >= WIDEST
    assert any(s.in_ > s.out for s in MANY[49::50])
    assert any(s.in_ < s.out for s in MANY[49::50])


@pytest.mark.parametrize(("count", "seed"), [(-1, 0), (10_001, 0), (1.5, 0), (1, -1), (1, "0")], ids=str)
def test_another_count_or_seed_is_refused(count, seed):
    with pytest.raises(ValueError, match=r"whole number from 0 to .*, got "):
        draw_shapes(count, seed)
