"""Contract: a rotation keeps the product and the total length, and moves the error as was recorded for
NVFP4-like blocks.
"""

import numpy as np
import pytest

from fp8core.experiments.outliers import OutlierVectors, Rest, draw_outlier_vectors
from fp8core.experiments.rotation_error import Frame, lower_ranges, product_errors
from fp8core.formats import FORMATS
from fp8core.quantize import quantize
from fp8core.recipes import OperandSpec
from fp8core.rotations import NVFP4_SIGNS, Rotation, RotationKind
from fp8core.scales import FP32_SCALE
from fp8core.tiles import WHOLE, TileGrid, TileShape

by_kind = pytest.mark.parametrize("kind", RotationKind, ids=lambda kind: kind.name)
FP4 = OperandSpec(format=FORMATS["e2m1"], tile=TileShape(1, 16), scale_rule=FP32_SCALE)
NVFP4 = Rotation(RotationKind.NVFP4_HADAMARD, len(NVFP4_SIGNS))


@pytest.mark.parametrize("rest", Rest, ids=lambda rest: rest.name)
def test_vectors_have_the_outliers_asked_for_and_a_rest_of_variance_one(rest) -> None:
    vectors = draw_outlier_vectors(rest, (4000, 32), 3, seed=1)
    assert (vectors.is_outlier.sum(axis=1) == 3).all()
    assert set(np.unique(vectors.outliers)) == {-1.0, 0.0, 1.0}
    assert (vectors.rest[vectors.is_outlier] == 0).all()
    assert vectors.at(7.0).dtype == np.float32
    assert (np.abs(vectors.at(7.0)[vectors.is_outlier]) == 7).all()
    variance = vectors.rest[~vectors.is_outlier].var()
    assert variance == pytest.approx(0.0 if rest is Rest.ZERO else 1.0, abs=0.03)
    with pytest.raises(ValueError, match="from 0 to 8, got 9"):
        draw_outlier_vectors(rest, (1, 8), 9, seed=0)


@pytest.mark.parametrize(
    ("magnitude", "zeros", "rest_before", "rest_after"), [(16, 0.46, None, None), (64, 0.93, 0.97, 2.41)]
)
def test_the_recorded_zeros_and_errors_of_the_small_elements(
    magnitude, zeros, rest_before, rest_after
) -> None:
    vectors = draw_outlier_vectors(Rest.GAUSSIAN, (20_000, 16), 1, seed=0)
    (before,) = Frame(vectors).errors([magnitude], FP4)
    (after,) = Frame(vectors, NVFP4).errors([magnitude], FP4)
    assert before.zeros == pytest.approx(zeros, abs=0.01)
    assert after.zeros < 0.005
    assert after.nmse > before.nmse
    if rest_before is not None:
        assert before.rest_nmse == pytest.approx(rest_before, abs=0.01)
        assert after.rest_nmse == pytest.approx(rest_after, rel=0.03)


@pytest.mark.parametrize("tile", [4, WHOLE])
@pytest.mark.parametrize("outliers", [1, 3])
@by_kind
def test_errors_are_those_after_rotating_back(kind, outliers, tile) -> None:
    vectors = draw_outlier_vectors(Rest.GAUSSIAN, (200, 16), outliers, seed=3)
    spec = OperandSpec(format=FORMATS["e2m1"], tile=TileShape(1, tile), scale_rule=FP32_SCALE)
    rotation = Rotation(kind, 16, 5)
    x = vectors.rest + 20 * vectors.outliers
    rotated = rotation.apply(x).astype(np.float32)
    quantized = quantize(rotated, TileGrid.over(rotated.shape, (1, tile)), spec)
    back = (rotation.undo(quantized.exact_values()) - x) ** 2
    beside = ~vectors.is_outlier
    frame = Frame(vectors, rotation)
    # Some are quantized at once, the last one by itself.
    *_, error = frame.errors([5, 8, 13, 17, 21, 34, 20], spec)
    assert error.nmse == pytest.approx(back.sum() / (x**2).sum(), rel=1e-12)
    assert error.rest_nmse == pytest.approx(back[beside].sum() / (x[beside] ** 2).sum(), rel=1e-9)
    assert error.zeros == np.mean(quantized.exact_values() == 0)
    assert frame.quantized(20, spec).parts(spec.format).total == pytest.approx(error.nmse, rel=1e-12)


def frame_of(x: np.ndarray, rotation: Rotation | None = None) -> Frame:
    return Frame(OutlierVectors(rest=x.astype(np.float64), outliers=np.zeros(x.shape)), rotation)


@pytest.mark.parametrize("rows", [8, 40])
def test_a_product_of_representable_numbers_has_no_error_and_a_plain_model_agrees(rows) -> None:
    rng = np.random.default_rng(0)
    a = rng.choice([0.0, 0.5, 1.0, -1.5, 3.0], (rows, 32)).astype(np.float32)
    a[:, ::16] = 6.0
    assert product_errors(frame_of(a), frame_of(a), [1.0], FP4) == (0,)
    x = rng.standard_normal((rows, 16)).astype(np.float32)
    values = FORMATS["e2m1"].values

    def model(y: np.ndarray) -> np.ndarray:
        scale = np.abs(y).max(axis=1, keepdims=True) / 6
        return values[np.abs(y[..., None] / scale[..., None] - values).argmin(axis=-1)] * scale

    rotated_x = NVFP4.apply(x)
    product = model(rotated_x) @ model(rotated_x).T
    truth = x.astype(np.float64) @ x.T
    expected = np.linalg.norm(product - truth) / np.linalg.norm(truth)
    assert product_errors(frame_of(x, NVFP4), frame_of(x, NVFP4), [1.0], FP4)[0] == pytest.approx(
        expected, rel=1e-5
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([1, 1, 1], [2, 2, 2], ()),
        ([1, 1, 1], [0.5, 0.5, 0.5], ((1, 16),)),
        ([1, 1, 1], [2, 0, 0], ((2, 16),)),
        ([1, 1, 1], [0, 2, 2], ((1, 2),)),
        ([1, 1, 1], [2, 0, 2], ((2, 8),)),
        ([1, 1, 1], [0, 2, 0], ((1, 2), (8, 16))),
        ([1, 1, 1], [2, 0.5, 0.5], ((4 ** (2 / 3), 16),)),
    ],
)
def test_ranges_end_at_the_crossings_on_a_logarithmic_axis(before, after, expected) -> None:
    ranges = lower_ranges((1, 4, 16), before, after)
    assert [list(pair) for pair in ranges] == [pytest.approx(pair) for pair in expected]
