"""Contract: refolding gives each line or square the largest of its scales S, and changes a value only where
it is below min_normal · S, to the nearest multiple of min_subnormal · S; what it cannot fold it refuses in a
sentence.
"""

from dataclasses import replace

import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, Side
from fp8core.quantize import QuantizedTensor, quantize
from fp8core.recipes import RECIPES
from fp8core.refold import LINE, REFOLDED_K, REFOLDED_TILES, refold, refolded
from fp8core.scales import E8M0_FLOOR
from fp8core.tiles import WHOLE, TileGrid, TileShape

SPEC = RECIPES["mxfp8"].fprop.a
by_tile = pytest.mark.parametrize("tile", REFOLDED_TILES.values(), ids=str)
FORMATS_8 = (FORMATS["e4m3"], FORMATS["e5m2"])
by_format = pytest.mark.parametrize("format_", FORMATS_8, ids=lambda format_: format_.name)


def quantized(x: np.ndarray, spec=SPEC) -> QuantizedTensor:
    return quantize(x.astype(np.float32), TileGrid.over(x.shape, (spec.tile.mn, spec.tile.k)), spec)


def normal(shape: tuple[int, int], octaves: int = 0) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.standard_normal(shape) * np.exp2(rng.integers(-octaves, octaves + 1, shape))


@by_tile
@pytest.mark.parametrize("tile_k", [1, 16, 32, 64])
@pytest.mark.parametrize("rule", [SPEC.scale_rule, E8M0_FLOOR], ids=lambda rule: rule.fit.name)
@by_format
def test_a_value_is_kept_or_rounded_to_the_nearest_that_is_left(format_, rule, tile_k, tile):
    """Against rounding to a grid of steps, in fp64, without encode."""
    spec = replace(SPEC, format=format_, scale_rule=rule, tile=TileShape(1, tile_k))
    before = quantized(normal((150, 333), 20), spec)
    after = refold(before, tile)
    largest = after.grid.expand(after.scale).astype(np.float64)
    had, has = before.exact_values(), after.exact_values()
    step = format_.min_subnormal * largest
    small = np.abs(had) < format_.min_normal * largest
    np.testing.assert_array_equal(has[~small], had[~small])
    np.testing.assert_array_equal(has[small], (np.rint(had / step) * step)[small])
    np.testing.assert_array_equal(np.signbit(has), np.signbit(had))
    assert ((has == 0) & (had != 0)).any()


@by_tile
def test_the_largest_scale_of_a_tile_is_taken_also_of_one_that_is_cut(tile):
    """Whether the last element, in a partial tile too, has the largest scale or another has it."""
    shape = (130, 300)
    for octave in (12, -12):
        x = normal(shape, 3)
        for there in TileGrid.over(shape, (tile.mn, tile.k)).tiles():
            x[there.rows[-1], there.columns[-1]] *= 2.0**octave
        before = quantized(x)
        after = refold(before, tile)
        folds = REFOLDED_K // SPEC.tile.k
        assert after.scale.shape == after.grid.scale_shape == (-(-130 // tile.mn), 3)
        for (row, fold), scale in np.ndenumerate(after.scale):
            rows = slice(row * tile.mn, (row + 1) * tile.mn)
            assert scale == before.scale[rows, fold * folds : (fold + 1) * folds].max()


@by_tile
def test_equal_scales_and_zero_tiles_change_no_code(tile):
    x = np.where(np.arange(256) % 64 < 32, 1.5, 0)[None].repeat(130, 0)
    x[7] = 0
    before = quantized(x)
    after = refold(before, tile)
    np.testing.assert_array_equal(after.codes, before.codes)
    decided = after.grid.expand(after.scale)
    assert (np.delete(decided, 7, axis=0) == before.scale.max()).all()
    assert (decided[7] == (SPEC.scale_rule.min_scale if tile is LINE else before.scale.max())).all()
    assert (refold(quantized(np.zeros((130, 200))), tile).scale == SPEC.scale_rule.min_scale).all()


@by_tile
def test_a_nan_takes_its_tile_with_it_and_no_more(tile):
    x = normal((200, 256), 6)
    x[129, 40] = np.inf
    before = quantized(x)
    after = refold(before, tile)
    is_nan = np.zeros(x.shape, bool)
    is_nan[slice(129, 130) if tile is LINE else slice(128, 200), :128] = True
    np.testing.assert_array_equal(np.isnan(after.exact_values()), is_nan)
    np.testing.assert_array_equal(after.codes[is_nan], before.codes[is_nan])


@by_tile
@pytest.mark.parametrize("matmul", MATMULS.values(), ids=MATMULS)
def test_k_may_run_down_the_rows(matmul, tile):
    x, rows = normal((256, 260), 6).astype(np.float32), matmul.k_is_rows(Side.B)
    before = quantize(x, RECIPES["mxfp8"].grid(matmul, Side.B, x.shape), SPEC)
    after = refold(before, tile)
    flat = quantized(x.T if rows else x)
    result = refold(flat, tile)
    np.testing.assert_array_equal(after.codes, result.codes.T if rows else result.codes)
    np.testing.assert_array_equal(after.scale, result.scale.T if rows else result.scale)
    assert after.grid.scale_shape == after.scale.shape


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (RECIPES["deepseek_v3"].fprop.a, "powers of two of one level, got amax / Qmax, in fp32"),
        (RECIPES["rowwise"].fprop.a, "powers of two of one level, got amax / Qmax, in fp32"),
        (replace(SPEC, tile=TileShape(1, 128)), "shorter lines along K"),
        (replace(SPEC, tile=TileShape(1, 48)), "shorter lines along K"),
        (replace(SPEC, tile=TileShape(1, WHOLE)), "shorter lines along K"),
        (replace(SPEC, tile=TileShape(32, 32)), "shorter lines along K"),
    ],
    ids=str,
)
@by_tile
def test_what_does_not_fold_is_refused_in_a_sentence(spec, sentence, tile):
    with pytest.raises(ValueError, match=sentence):
        refolded(spec, tile)
