"""Contract: what a public name cannot take is refused with one ValueError, whatever is wrong with it."""

from dataclasses import replace

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS, GroupScales, matmul, promoted
from fp8core.accumulators.error_over_k import prefix_sums
from fp8core.accumulators.trace import trace
from fp8core.contraction import contract, rescales_per_output, stretches, summed_stretches
from fp8core.errors import rel_err, split_error, sqnr_db
from fp8core.experiments.amax_series import SeriesKind, amax_series
from fp8core.experiments.delayed_scaling import run_delayed
from fp8core.experiments.dot_terms import TermKind, draw_terms
from fp8core.experiments.outliers import Rest, draw_outlier_vectors
from fp8core.experiments.rounding_sweep import values_around
from fp8core.formats import FORMATS, FloatFormat, Specials
from fp8core.formats.number_line import around
from fp8core.formats.survival import fates
from fp8core.inputs import InputKind, draw, log_uniform_blocks
from fp8core.linear import LayerShape
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES, OperandSpec
from fp8core.rotations import Rotation, RotationKind, hadamard, random_signs
from fp8core.rounding import Overflow, Rounding
from fp8core.scales import E8M0_FLOOR, FP32_SCALE, Fit, OuterScale, ScaleRule
from fp8core.stochastic import chances, round_stochastic
from fp8core.tiles import WHOLE, TileGrid, TileShape

E4M3, HIF8 = FORMATS["e4m3"], FORMATS["hif8"]
TWO_LEVELS = ScaleRule(format=E4M3, fit=Fit.NEAREST, outer=OuterScale(tile=TileShape(WHOLE, WHOLE)))
THREES = OuterScale(tile=TileShape(1, 3))
FAST = ACCUMULATORS["hopper_fast"]
RECIPE, GRID = RECIPES["deepseek_v3"], TileGrid.over((2, 2), (1, WHOLE))
NOT_WHOLE = [1.5, 2.0, True, "1", None, float("nan"), -1]
FOUR, CODES = np.ones(4), np.zeros((2, 4), np.uint8)
SCALES = GroupScales(a=np.ones((2, 1)), b=np.ones((2, 1)), format=E4M3, size=16)
NO_NUMBERS = ["a", None, [[1.0], [1.0, 2.0]], [None], [1j], [True], 10**400]


def own(**facts: object) -> FloatFormat:
    return FloatFormat(
        **{"name": "mine", "exponent_bits": 4, "mantissa_bits": 3, "bias": 7, "specials": Specials.IEEE}
        | facts
    )


TAKES_A_WHOLE_NUMBER = {
    "exponent_bits": lambda n: own(exponent_bits=n),
    "mantissa_bits": lambda n: own(mantissa_bits=n),
    "bias": lambda n: own(bias=301 if n == -1 else n),
    "tokens": lambda n: LayerShape(n, 1, 1),
    "in": lambda n: LayerShape(1, n, 1),
    "out": lambda n: LayerShape(1, 1, n),
    "tile mn": lambda n: TileShape("1" if n is WHOLE else n, 1),
    "tile k": lambda n: TileShape(1, "1" if n is WHOLE else n),
    "grid rows": lambda n: TileGrid((n, 1), (1, 1)),
    "grid tile": lambda n: TileGrid((1, 1), (1, "1" if n is WHOLE else n)),
    "k": lambda n: stretches(n, 2),
    "extent": lambda n: rescales_per_output(8, "1" if n is WHOLE else n, 2),
    "summed": lambda n: summed_stretches(8, "1" if n is WHOLE else n, 1, 1),
    "extent of a scale": lambda n: summed_stretches(8, 2, "1" if n is WHOLE else n, 1),
    "history": lambda n: run_delayed([1.0], E4M3, n),
    "margin": lambda n: run_delayed([1.0], E4M3, 1, 128 if n == -1 else n),
    "Hadamard size": lambda n: hadamard(FOUR, n),
    "rotation size": lambda n: Rotation(RotationKind.ORTHOGONAL, n),
    "rotation seed": lambda n: Rotation(RotationKind.ORTHOGONAL, 4, n),
    "signs": lambda n: random_signs(n, 0),
    "random bits": lambda n: chances(0.5, n),
    "layout of a code": lambda n: HIF8.layout(n),
    "steps of a series": lambda n: amax_series(SeriesKind.STEADY, n, 0),
    "seed of a series": lambda n: amax_series(SeriesKind.STEADY, 1, n),
    "size of an input": lambda n: draw(InputKind.GAUSSIAN, (n, 1), 0),
    "seed of an input": lambda n: draw(InputKind.GAUSSIAN, (1, 1), n),
    "distance of outliers": lambda n: draw(InputKind.OUTLIER_CHANNELS, (1, 1), 0, n),
    "blocks": lambda n: log_uniform_blocks(n, 2, 0),
    "terms": lambda n: draw_terms(TermKind.ZERO_MEAN, (1, 1), n, 0),
    "outliers": lambda n: draw_outlier_vectors(Rest.ZERO, (2, 4), n, 0),
    "values around": lambda n: values_around(E4M3, 1.0, n),
    "a length": lambda n: prefix_sums(CODES, CODES, E4M3, ACCUMULATORS["fp32"], [n]),
    "a promotion": lambda n: promoted(ACCUMULATORS["fp32"], n),
    "reach": lambda n: around(E4M3, 8, n),
}


@pytest.mark.parametrize("value", NOT_WHOLE, ids=repr)
@pytest.mark.parametrize("call", TAKES_A_WHOLE_NUMBER.values(), ids=TAKES_A_WHOLE_NUMBER)
def test_a_whole_number_is_no_fraction_boolean_text_or_negative(call, value) -> None:
    with pytest.raises(ValueError, match="got"):
        call(value)


TAKES_NUMBERS = {
    "encode": E4M3.encode,
    "encode a table format": HIF8.encode,
    "ulp": E4M3.ulp,
    "rounds_beyond": HIF8.rounds_beyond,
    "decode": E4M3.decode,
    "amax of a rule": lambda x: FP32_SCALE.scale(x, E4M3),
    "amax of a grid": GRID.amax,
    "expand": GRID.expand,
    "quantize": lambda x: quantize(x, GRID, RECIPE.fprop.a),
    "hadamard": lambda x: hadamard(x, 2),
    "rotation": lambda x: Rotation(RotationKind.ORTHOGONAL, 2).apply(x),
    "undo": lambda x: Rotation(RotationKind.HADAMARD, 2).undo(x),
    "delayed": lambda x: run_delayed(x, E4M3, 1),
    "fates": lambda x: fates(E4M3, x),
    "rel_err": lambda x: rel_err(x, x),
    "split_error": lambda x: split_error(x, x, 1.0, E4M3),
}


@pytest.mark.parametrize("x", NO_NUMBERS, ids=lambda x: repr(x)[:12])
@pytest.mark.parametrize("call", TAKES_NUMBERS.values(), ids=TAKES_NUMBERS)
def test_an_array_of_numbers_holds_nothing_else(call, x) -> None:
    with pytest.raises(ValueError, match="got"):
        call(x)


WRONG = {
    "a bound's NaN": (
        lambda: FAST.error_bound([[np.nan]], [[1.0]]),
        "finite numbers, got NaN or infinity in a",
    ),
    "a bound's dims": (lambda: FAST.error_bound([1.0], [[1.0]]), "a has 2 dims, got shape"),
    "a bound's K": (lambda: FAST.error_bound(np.ones((2, 3)), np.ones((2, 4))), "one K, got"),
    "negative scales": (
        lambda: GroupScales(a=-np.ones((2, 4)), b=np.ones((2, 4)), format=E4M3, size=16),
        "a holds scales that are no",
    ),
    "scales in between": (
        lambda: GroupScales(a=np.ones((2, 4)), b=np.full((2, 4), 1.01), format=E4M3, size=16),
        "b holds scales that are",
    ),
    "groups of 8": (
        lambda: GroupScales(a=np.ones((2, 4)), b=np.ones((2, 4)), format=E4M3, size=8),
        "for 16 or 32 products, got 8",
    ),
    "rounding in words": (lambda: E4M3.encode([1.3], "nearest_even"), "rounding is Rounding.NEAREST_EVEN or"),
    "a negative amax": (lambda: FP32_SCALE.scale([1.0, -2.0], E4M3), "at least 0, got -2"),
    "a spec's format": (
        lambda: OperandSpec(format="e4m3", tile=TileShape(1, 2), scale_rule=FP32_SCALE),
        "format is Format, got str 'e4m3'",
    ),
    "an outer scale over powers of two": (
        lambda: replace(E8M0_FLOOR, outer=TWO_LEVELS.outer),
        "a scale under an outer one is amax / Qmax",
    ),
    "two levels without the outer amax": (
        lambda: TWO_LEVELS.scale([1.0], E4M3),
        "a rule of two levels takes the amax of outer tiles, got none",
    ),
    "tiles that cross an outer one": (
        lambda: OperandSpec(format=E4M3, tile=TileShape(1, 2), scale_rule=replace(TWO_LEVELS, outer=THREES)),
        r"tiles of the inner level fill those of the outer one, got .*k=2\) in .*k=3\)",
    ),
    "a tile of one number": (lambda: TileGrid.over((5, 5), 1), "a row and a column extent, got 1"),
    "a Hadamard rotation of 12": (lambda: Rotation(RotationKind.HADAMARD, 12), "power of two, got 12"),
    "noise in another shape": (
        lambda: E4M3.encode(np.ones((2, 3)), Rounding.STOCHASTIC, noise=np.zeros(3)),
        r"noise has the shape of x, \(2, 3\), got \(3,\)",
    ),
    "noise of 1": (lambda: E4M3.encode([1.1], Rounding.STOCHASTIC, noise=[1.0]), r"noise lies in \[0, 1\)"),
    "random bits too large": (
        lambda: round_stochastic(E4M3, [1.1], np.array([256]), 8),
        "integers from 0 to 255",
    ),
    "a fraction of 1": (lambda: chances(1.0, 8), r"a fraction lies in \[0, 1\)"),
    "a short operand": (lambda: contract(FOUR, FOUR[:3], FOUR, FOUR, 2), r"one K, got .*b_codes \[3\]"),
    "operands of two dims": (
        lambda: contract(*[np.ones((2, 2))] * 4, 2),
        r"shape \[K\] with one K, got a_codes \[2, 2\]",
    ),
    "fates below a scale": (lambda: fates(FORMATS["e8m0"], [-1.0]), "e8m0 has no negative numbers, got -1"),
    "operands of two K": (lambda: matmul(CODES, CODES[:, :3], E4M3, E4M3, FAST), "one K, got"),
    "a unit's operands": (
        lambda: matmul(CODES, CODES, FORMATS["e2m1"], E4M3, FAST),
        "multiplies e4m3, e5m2, got",
    ),
    "a c of fp64": (
        lambda: matmul(CODES, CODES, E4M3, E4M3, FAST, np.zeros((2, 2))),
        r"c is float32\[2, 2\], got float64",
    ),
    "no group scales": (
        lambda: matmul(CODES, CODES, FORMATS["e2m1"], FORMATS["e2m1"], ACCUMULATORS["blackwell_fp4"]),
        "needs group scales",
    ),
    "group scales too many": (
        lambda: matmul(CODES, CODES, E4M3, E4M3, FAST, scales=SCALES),
        "takes no group scales",
    ),
    "a promotion within a step": (lambda: promoted(FAST, 48), "every multiple of 32, got 48"),
    "a list to trace": (lambda: trace([1], [1], E4M3, E4M3, FAST), "a is a numpy array"),
    "a trace of exact sums": (
        lambda: trace(CODES[0], CODES[0], E4M3, E4M3, ACCUMULATORS["cdna1_fp16"]),
        "add exactly, round once",
    ),
    "a trace of two K": (
        lambda: trace(CODES[0], CODES[0, :3], E4M3, E4M3, FAST),
        r"one K, got \(4,\) and \(3,\)",
    ),
    "a trace of NaN": (lambda: trace(CODES[0] | 0x7F, CODES[0], E4M3, E4M3, FAST), "finite operands"),
    "a falling length": (
        lambda: prefix_sums(CODES, CODES, E4M3, ACCUMULATORS["fp32"], [4, 2]),
        r"lengths rise up to K, 4, got \[4, 2\]",
    ),
    "a length beyond K": (
        lambda: prefix_sums(CODES, CODES, E4M3, ACCUMULATORS["fp32"], [5]),
        r"lengths rise up to K, 4, got \[5\]",
    ),
    "a format of another unit": (
        lambda: prefix_sums(CODES, CODES, FORMATS["e2m1"], FAST, [3]),
        "multiplies e4m3, e5m2, got e2m1",
    ),
    "a rest in words": (lambda: draw_outlier_vectors("zero", (1, 8), 1, seed=0), "rest is Rest.GAUSSIAN or"),
    "an error in words": (lambda: sqnr_db("0.1"), "a relative error holds real numbers, got str '0.1'"),
    "a negative error": (lambda: sqnr_db(-0.1), "at least 0, got -0.1"),
    "values of another shape": (lambda: split_error(FOUR, np.ones(1), 1.0, E4M3), "one shape"),
    "an error of zeros": (lambda: split_error(0 * FOUR, 0 * FOUR, 1.0, E4M3), "all-zero"),
    "an error of infinity": (lambda: split_error([np.inf], [np.inf], 1.0, E4M3), "got NaN or infinity in x"),
    "a negative code": (lambda: E4M3.decode(-1), "run from 0 to 255"),
}


@pytest.mark.parametrize(("call", "sentence"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_refused_in_a_sentence(call, sentence) -> None:
    with pytest.raises(ValueError, match=sentence) as raised:
        call()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("kind", RotationKind)
@pytest.mark.parametrize("shape", [(2, 24), (24, 2), (8,), (16, 12), ()], ids=str)
def test_a_rotation_takes_whole_runs_of_the_last_axis_and_nothing_else(kind, shape) -> None:
    rotation = Rotation(kind, 16)
    for turn in (rotation.apply, rotation.undo):
        with pytest.raises(ValueError, match="last axis must be a multiple of 16"):
            turn(np.ones(shape))
        assert turn(np.ones((3, 2, 32))).shape == (3, 2, 32)


def test_an_element_outside_the_tensor_has_no_tile() -> None:
    for row, column in ((-1, 0), (0, 2), (2, 0)):
        with pytest.raises(IndexError, match="outside a tensor"):
            GRID.tile_of(row, column)


def test_numpy_whole_numbers_and_plain_lists_are_taken() -> None:
    assert LayerShape(np.int64(3), 0, 2).of is not None
    assert stretches(np.int32(4), np.int64(2)) == (range(2), range(2, 4))
    assert E4M3.encode([1, 2], Rounding.NEAREST_AWAY, Overflow.NAN).tolist() == [0x38, 0x40]
    assert hadamard([1, 1], np.int64(2)).tolist() == pytest.approx([2**0.5, 0])
