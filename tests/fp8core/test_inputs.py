"""Contract: errors are their formulas; drawn inputs are seeded and have the statistics that they claim;
a recorded kind gives its file's own bf16 numbers.
"""

import json
import math

import ml_dtypes
import numpy as np
import pytest

from fp8core.errors import rel_err, sqnr_db
from fp8core.experiments.amax_series import RECORDED_SERIES, SERIES_NOTES, SeriesKind, amax_series
from fp8core.experiments.dot_terms import REAL_TERMS, TermKind, draw_terms
from fp8core.experiments.outliers import REAL_RESTS, draw_outlier_vectors
from fp8core.inputs import (
    INPUT_NOTES,
    LAWS,
    OFFERED,
    OUTLIER_EVERY,
    OUTLIER_FACTOR,
    RECORDED,
    InputKind,
    draw,
    draw_operand,
    kind_of,
    recorded,
    rules,
    stretch,
)
from fp8core.inputs.recorded import LAYERS, has_amax, has_tensors
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


needs_files = pytest.mark.skipif(not has_tensors(), reason="assets/tensors holds no recorded tensors")
KIND = InputKind.REAL_DOWN_EARLY
KEPT = (recorded._head, recorded.tensor, recorded._amax)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A folder with one small file of each kind, written here by the format's own rule."""
    x = np.arange(12, dtype=np.float32).reshape(3, 4).astype(ml_dtypes.bfloat16)
    save(tmp_path / "s_00009_5.down.safetensors", "x", x, {"after_step": "9 of 10"})
    series = {"5.down": {"dy": [1.0, 4.0, 2.0]}}
    (tmp_path / "amax.json").write_text(json.dumps({"recipe": "r", "series": series}))
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    for kept in KEPT:
        kept.cache_clear()
    yield x.astype(np.float32)
    for kept in KEPT:
        kept.cache_clear()


def save(path, name, x, metadata) -> None:
    header = {
        "__metadata__": metadata,
        name: {"dtype": "BF16", "shape": x.shape, "data_offsets": [0, x.nbytes]},
    }
    head = json.dumps(header).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + x.tobytes())


def test_a_file_is_read_as_the_format_says_and_repeats_where_it_ends(written) -> None:
    np.testing.assert_array_equal(draw(KIND, (3, 4), 0), written)
    numbers = draw(KIND, (60, 80), 0)
    for left in range(0, 80, 4):
        for top in range(0, 60, 3):
            block = numbers[top : top + 3, left : left + 4]
            assert any(np.array_equal(block, np.roll(written, by, axis=0)) for by in range(3))
    assert len({block.tobytes() for block in np.split(numbers[:3], 20, axis=1)}) == 3, "other rows come first"
    np.testing.assert_array_equal(stretch(KIND, LayerTensor.X, 14, 0), [*range(12), 0, 1])
    np.testing.assert_array_equal(amax_series(SeriesKind.REAL_DOWN_DY, 2, 5), [1.0, 4.0])
    assert amax_series(SeriesKind.REAL_DOWN_DY, 400, 0).shape == (3,)
    assert not has_tensors()
    assert not has_amax()


def test_what_is_missing_is_named(written) -> None:
    with pytest.raises(ValueError, match=r"s_00009_5.down.safetensors has no tensor w; x are there"):
        draw(KIND, (3, 4), 0, tensor=LayerTensor.W)
    with pytest.raises(ValueError, match=r"no recorded tensors of 5.down, late"):
        draw(InputKind.REAL_DOWN_LATE, (3, 4), 0)
    with pytest.raises(ValueError, match=r"amax.json has no series of x of 5.down"):
        amax_series(SeriesKind.REAL_DOWN_X, 3, 0)
    with pytest.raises(ValueError, match="those of a recorded kind, got gaussian"):
        stretch(InputKind.GAUSSIAN, LayerTensor.X, 3, 0)


@pytest.mark.parametrize("kind", RECORDED if has_tensors() else [])
def test_every_recorded_kind_has_tensors_for_the_three_roles(kind) -> None:
    part, step = RECORDED[kind]
    for tensor in OPERANDS:
        x = recorded.tensor(part, step, tensor)
        assert np.isfinite(x).all()
        assert x.any()
        np.testing.assert_array_equal(x.astype(ml_dtypes.bfloat16).astype(np.float32), x)
        numbers = draw_operand(kind, tensor, (5, 7), 0, fan_in=4096)
        np.testing.assert_array_equal(numbers, x[:5, :7])
    origin = recorded.metadata(part, step)
    assert origin["layer"] == part.value
    assert rules(kind) == f"x, w and dy: {INPUT_NOTES[kind].rule}"
    assert f"after step {origin['after_step']}" in INPUT_NOTES[kind].rule
    assert origin["date"] in INPUT_NOTES[kind].rule


@needs_files
def test_other_seeds_begin_at_other_rows_of_the_same_tensor() -> None:
    whole = recorded.tensor(*RECORDED[KIND], LayerTensor.X)
    rolled = draw(KIND, whole.shape, 3)
    assert (rolled != whole).any()
    np.testing.assert_array_equal(np.sort(rolled, axis=None), np.sort(whole, axis=None))


@pytest.mark.parametrize("kind", RECORDED_SERIES if has_amax() else [])
def test_a_recorded_series_is_above_zero_and_has_its_note(kind) -> None:
    series = amax_series(kind, 30, 0)
    np.testing.assert_array_equal(series, amax_series(kind, 400, 7)[:30])
    assert (series > 0).all()
    assert "at each step of training a small language model" in SERIES_NOTES[kind].rule


@pytest.mark.parametrize("kind", REAL_TERMS if has_tensors() else [])
def test_recorded_terms_are_lines_of_one_layer_along_k(kind) -> None:
    matmul = REAL_TERMS[kind]
    a, b = draw_terms(kind, (3, 2), 20, seed=1)
    part, step = LAYERS[1]
    for lines, tensor, transposed in (
        (a, matmul.a, kind is TermKind.REAL_WGRAD),
        (b, matmul.b, kind is not TermKind.REAL_FPROP),
    ):
        x = recorded.tensor(part, step, tensor).astype(np.float64)
        x = (x.T if transposed else x) / np.sqrt(np.mean(x**2))
        for line in lines:
            assert any(np.array_equal(line, other[:20]) for other in x)


@pytest.mark.parametrize("rest", REAL_RESTS if has_tensors() else [])
def test_a_recorded_rest_has_variance_one_and_outliers_of_its_own_place(rest) -> None:
    vectors = draw_outlier_vectors(rest, (8, 64), 2, seed=0)
    assert (vectors.rest[vectors.is_outlier] == 0).all()
    x = stretch(InputKind.REAL_DOWN_LATE, REAL_RESTS[rest], 8 * 64, 0).astype(np.float64).reshape(8, 64)
    x /= np.sqrt(np.mean(x**2))
    np.testing.assert_array_equal(vectors.rest[~vectors.is_outlier], x[~vectors.is_outlier])
