"""Contract: refolding gives each stretch of REFOLDED_K the largest of its scales S, and changes a value only
where it is below min_normal · S, to the nearest multiple of min_subnormal · S; what it cannot fold it refuses
in a sentence.
"""

import dataclasses

import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, Side
from fp8core.quantize import QuantizedTensor, quantize
from fp8core.recipes import RECIPES
from fp8core.refold import REFOLDED_K, refold, refolded
from fp8core.scales import E8M0_FLOOR
from fp8core.tiles import WHOLE, TileGrid, TileShape

SPEC = RECIPES["mxfp8"].fprop.a
FORMATS_8 = (FORMATS["e4m3"], FORMATS["e5m2"])
by_format = pytest.mark.parametrize("format_", FORMATS_8, ids=lambda format_: format_.name)


def quantized(x: np.ndarray, spec=SPEC) -> QuantizedTensor:
    return quantize(x.astype(np.float32), TileGrid.over(x.shape, (spec.tile.mn, spec.tile.k)), spec)


def normal(shape: tuple[int, int], octaves: int = 0) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.standard_normal(shape) * np.exp2(rng.integers(-octaves, octaves + 1, shape))


@pytest.mark.parametrize("tile_k", [1, 16, 32, 64])
@pytest.mark.parametrize("rule", [SPEC.scale, E8M0_FLOOR], ids=lambda rule: rule.kind.name)
@by_format
def test_a_value_is_kept_or_rounded_to_the_nearest_that_is_left(format_, rule, tile_k):
    """Against rounding to a grid of steps, in fp64, without encode."""
    spec = dataclasses.replace(SPEC, format=format_, scale=rule, tile=TileShape(1, tile_k))
    before = quantized(normal((23, 333), 20), spec)
    after = refold(before)
    largest = after.grid.expand(after.scale).astype(np.float64)
    had, has = before.exact_values(), after.exact_values()
    step = format_.min_subnormal * largest
    small = np.abs(had) < format_.min_normal * largest
    np.testing.assert_array_equal(has[~small], had[~small])
    np.testing.assert_array_equal(has[small], (np.rint(had / step) * step)[small])
    np.testing.assert_array_equal(np.signbit(has), np.signbit(had))
    assert ((has == 0) & (had != 0)).any()


def test_the_largest_scale_of_a_stretch_is_taken():
    before = quantized(normal((5, 300), 12))
    after = refold(before)
    assert after.scale.shape == (5, 3)
    folds = REFOLDED_K // SPEC.tile.k
    for row in range(5):
        for fold in range(3):
            parts = before.scale[row, fold * folds : (fold + 1) * folds]
            assert after.scale[row, fold] == parts.max()


def test_equal_scales_and_zero_tiles_change_no_code():
    x = np.where(np.arange(256) % 64 < 32, 1.5, 0)[None].repeat(3, 0)
    before = quantized(x)
    after = refold(before)
    np.testing.assert_array_equal(after.codes, before.codes)
    assert (after.scale == before.scale.max()).all()
    assert (refold(quantized(np.zeros((2, 200)))).scale == SPEC.scale.min_scale).all()


def test_a_nan_takes_its_stretch_with_it_and_no_more():
    x = normal((4, 256), 6)
    x[1, 40] = np.inf
    before = quantized(x)
    after = refold(before)
    broken = np.isnan(after.exact_values())
    assert broken[1, :128].all()
    assert broken.sum() == 128
    np.testing.assert_array_equal(after.codes[1, :128], before.codes[1, :128])


def test_the_widest_ratio_of_scales_leaves_signed_zeros():
    before = quantized(np.array([[2.0**127, *[0] * 31, -(2.0**-140), *[0] * 95]]))
    assert before.scale[0, 0] / np.float64(before.scale[0, 1]) > 2.0**200
    after = refold(before)
    assert after.exact_values()[0, 0] == 2.0**127
    assert after.codes[0, 32] == FORMATS["e4m3"].sign_bit


@pytest.mark.parametrize("matmul", MATMULS.values(), ids=MATMULS)
def test_k_may_run_down_the_rows(matmul):
    x, rows = normal((256, 260), 6).astype(np.float32), matmul.k_is_rows(Side.B)
    before = quantize(x, RECIPES["mxfp8"].grid(matmul, Side.B, x.shape), SPEC)
    after = refold(before, k_is_rows=rows)
    flat = quantized(x.T if rows else x)
    turned = refold(flat)
    np.testing.assert_array_equal(after.codes, turned.codes.T if rows else turned.codes)
    np.testing.assert_array_equal(after.scale, turned.scale.T if rows else turned.scale)
    assert after.grid.scale_shape == after.scale.shape


@pytest.mark.parametrize("shape", [(0, 64), (5, 0), (1, 1)])
def test_no_shape_is_too_small(shape):
    after = refold(quantized(np.ones(shape)))
    assert after.codes.shape == shape
    assert after.scale.shape == after.grid.scale_shape


def test_few_values_of_normal_data_change():
    """A changed |x| is below min_normal · S, and S < 2 · amax / max: of a normal density that is at most a
    share of 2 · phi(0) · 2 · amax · min_normal / max. Most of those lose nothing: seed 0 has 3 of 524,288.
    """
    x = normal((512, 1024))
    before = quantized(x)
    changed = (refold(before).exact_values() != before.exact_values()).mean()
    e4m3 = FORMATS["e4m3"]
    reach = 2 * np.abs(x).max() * e4m3.min_normal / e4m3.max
    assert 0 < changed <= 1e-5 < 2 / np.sqrt(2 * np.pi) * reach


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (RECIPES["deepseek_v3"].fprop.a, "powers of two, not fp32"),
        (RECIPES["rowwise"].fprop.a, "powers of two, not fp32"),
        (dataclasses.replace(SPEC, tile=TileShape(1, 128)), "shorter lines along K"),
        (dataclasses.replace(SPEC, tile=TileShape(1, 48)), "shorter lines along K"),
        (dataclasses.replace(SPEC, tile=TileShape(1, WHOLE)), "shorter lines along K"),
        (dataclasses.replace(SPEC, tile=TileShape(32, 32)), "shorter lines along K"),
    ],
    ids=str,
)
def test_what_does_not_fold_is_refused_in_a_sentence(spec, sentence):
    with pytest.raises(ValueError, match=sentence):
        refolded(spec)
