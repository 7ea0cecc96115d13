"""Contract: pulling the scales out of a stretch changes nothing exactly where both are constant on it."""

import numpy as np
import pytest

from fp8core.contraction import (
    contract,
    partial_sums,
    rescales_per_output,
    stretches,
    summed_stretches,
)
from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE


def test_stretches_cut_at_every_boundary_of_either_operand() -> None:
    assert stretches(10, 4, 6) == (range(4), range(4, 6), range(6, 8), range(8, 10))
    assert stretches(10, WHOLE, WHOLE) == (range(10),)
    assert stretches(0, 4) == ()
    assert rescales_per_output(10, 4, 6) == 4


@pytest.mark.parametrize("k", [0, 1, 10, 128, 300])
@pytest.mark.parametrize("a", [1, 4, 128, 400, WHOLE])
@pytest.mark.parametrize("b", [6, 32, 128, WHOLE])
def test_an_output_element_is_rescaled_once_a_stretch(k, a, b) -> None:
    assert rescales_per_output(k, a, b) == len(stretches(k, a, b))


@pytest.mark.parametrize("summed", [1, 32, 128, WHOLE])
@pytest.mark.parametrize("a", [1, 16, 32, 128, WHOLE])
@pytest.mark.parametrize("b", [8, 128, WHOLE])
def test_the_scale_leaves_the_sum_exactly_where_the_rule_says(summed, a, b) -> None:
    k = 300
    rng = np.random.default_rng(0)
    codes = rng.integers(1, 16, (2, k)).astype(np.float64)
    scale_a, scale_b = (
        np.repeat(2.0 ** rng.permutation(k), k if extent is WHOLE else extent)[:k] ** 0.05
        for extent in (a, b)
    )
    parts = summed_stretches(k, summed, a, b)
    numbers = contract(codes[0], codes[1], scale_a, scale_b, summed)
    same = np.isclose(numbers.right_parts, numbers.pulled_out_parts, rtol=1e-12)
    assert same.tolist() == [part.scale_leaves_sum for part in parts]
    assert np.isclose(numbers.right, np.sum(codes[0] * codes[1] * scale_a * scale_b))


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_every_recipe_obeys_the_rule_for_the_stretch_it_sums(recipe) -> None:
    for matmul in MATMULS.values():
        spec = recipe.spec(matmul)
        extents = [spec.extent(side) for side in Side]
        summed = min(spec.extents_along_k, default=WHOLE)
        assert all(part.scale_leaves_sum for part in summed_stretches(1000, summed, *extents))


def test_a_tile_laid_the_wrong_way_breaks_the_sum() -> None:
    parts = summed_stretches(256, 128, 1, 128)
    assert [(p.a_constant, p.b_constant) for p in parts] == [(False, True)] * 2


def test_partial_sums_add_up_to_the_right_number() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(-8, 9, (2, 10)).astype(np.float64)
    scale_a = np.repeat(2.0 ** rng.permutation(3), 4)[:10]
    scale_b = np.repeat(3.0 ** rng.permutation(2), 6)[:10]
    parts = partial_sums(codes[0], codes[1], scale_a, scale_b, 4, 6)
    assert [part.k for part in parts] == list(stretches(10, 4, 6))
    for part in parts:
        assert (part.a_scale, part.b_scale) == (scale_a[part.k[0]], scale_b[part.k[-1]])
        assert part.code_sum == sum(codes[0, k] * codes[1, k] for k in part.k)
    right = contract(codes[0], codes[1], scale_a, scale_b, WHOLE).right
    assert np.isclose(sum(part.value for part in parts), right)
