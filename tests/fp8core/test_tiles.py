"""Contract: a tile follows the contracted dim onto the stored tensor, and the grid covers it exactly."""

import numpy as np
import pytest

from fp8core.contraction import contract, partial_sums, rescales_per_output, stretches, summed_stretches
from fp8core.linear import DGRAD, FPROP, MATMULS, WGRAD, LayerShape, Side
from fp8core.tiles import WHOLE, TileGrid, TileShape

SHAPES = [(0, 5), (5, 0), (1, 1), (3, 7), (128, 256), (130, 257)]
TILES = [(WHOLE, WHOLE), (1, WHOLE), (WHOLE, 1), (1, 128), (128, 1), (128, 128), (1, 32), (2, 3)]


def test_a_tile_follows_the_contracted_dim() -> None:
    line = TileShape(1, 128)
    assert line.on_tensor(FPROP, Side.A) == (1, 128)
    assert line.on_tensor(FPROP, Side.B) == (1, 128)
    assert line.on_tensor(DGRAD, Side.B) == (128, 1)
    assert line.on_tensor(WGRAD, Side.A) == (128, 1)
    assert line.on_tensor(WGRAD, Side.B) == (128, 1)


@pytest.mark.parametrize("matmul", MATMULS.values(), ids=MATMULS)
def test_a_matmul_is_a_valid_product_of_its_tensors(matmul) -> None:
    assert matmul.free(Side.A) is matmul.m
    assert matmul.free(Side.B) is matmul.n
    for side in Side:
        assert set(matmul.operand(side).axes) == {matmul.free(side), matmul.k}
    assert matmul.d.axes == (matmul.m, matmul.n)
    layer = LayerShape(2, 3, 5)
    assert matmul.layer(*matmul.mnk(layer)) == layer


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("tile", TILES, ids=str)
def test_tiles_cover_every_element_once(shape, tile) -> None:
    grid = TileGrid.over(shape, tile)
    counts = np.zeros(shape, int)
    tiles = list(grid.tiles())
    for t in tiles:
        counts[t.rows.start : t.rows.stop, t.columns.start : t.columns.stop] += 1
        assert grid.tile_of(t.rows.start, t.columns.start) == (t.row, t.column)
        assert grid.tile_of(t.rows[-1], t.columns[-1]) == (t.row, t.column)
    assert (counts == 1).all()
    assert len(tiles) == np.prod(grid.scale_shape)
    rows, columns = (ends.T.tolist() for ends in grid.ends())
    assert rows == [[t.rows.start, t.rows.stop] for t in tiles]
    assert columns == [[t.columns.start, t.columns.stop] for t in tiles]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("tile", TILES, ids=str)
def test_amax_and_expand_agree_with_a_loop_over_tiles(shape, tile) -> None:
    grid = TileGrid.over(shape, tile)
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    amax = grid.amax(x)
    assert amax.shape == grid.scale_shape
    expanded = grid.expand(amax)
    for t in grid.tiles():
        part = np.s_[t.rows.start : t.rows.stop, t.columns.start : t.columns.stop]
        assert amax[t.row, t.column] == np.abs(x[part]).max()
        assert (expanded[part] == amax[t.row, t.column]).all()


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
