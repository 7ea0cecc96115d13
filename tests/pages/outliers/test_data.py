"""Contract: the error maps of "Outliers" are those of the experiments."""

from dataclasses import replace

import numpy as np
import pytest

from fp8core.experiments.operand_error import operand_error
from fp8core.experiments.read_back import as_bf16, read_back
from fp8core.inputs import OUTLIER_EVERY, InputKind
from fp8core.linear import LayerTensor
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES
from pages.outliers import data

SHAPE = (128, 256)
SOURCE = data.Source(kind=InputKind.HEAVY_TAIL.value, shape=SHAPE, seed=3)


def upload(x: np.ndarray) -> data.Source:
    matrix = data.Matrix(digest=str(x.sum()), shape=x.shape, data=x.astype(np.float32).tobytes())
    return replace(SOURCE, shape=x.shape, matrix=matrix)


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_map_has_the_level_of_each_element_around_the_largest(recipe) -> None:
    role = "dgrad_a"
    part = data.error_map(recipe, role, SOURCE)
    result = read_back(SOURCE.numbers(), data.operand_of_key(recipe, role), SOURCE.seed)
    assert part.error.total == operand_error(result).total
    corner = np.s_[part.rows.start : part.rows.stop, part.columns.start : part.columns.stop]
    assert part.levels.shape == data.CORNER
    np.testing.assert_array_equal(part.levels == data.ZERO, result.dead[corner])
    x = SOURCE.numbers()
    assert part.largest.max() == np.abs(x).max()
    np.testing.assert_array_equal(part.levels[result.error[corner] == 0], 0)


@pytest.mark.parametrize("role", ["fprop_a", "wgrad_b"])
@pytest.mark.parametrize("recipe", ["per_tensor", "deepseek_v3", "mxfp4", "nvfp4"])
def test_the_codes_of_a_tile_are_the_quantizers(recipe, role) -> None:
    operand, (row, column) = data.operand_of_key(recipe, role), (100, 145)
    part = data.codes_of(recipe, role, SOURCE, row, column)
    tensor = quantize(SOURCE.numbers(), operand)
    here = np.ix_(part.rows, part.columns)
    assert part.codes == tensor.codes[here].ravel().tolist()
    assert part.values == tensor.exact_values()[here].ravel().tolist()
    assert row in part.rows
    assert column in part.columns
    assert len(part.codes) == data.RUN
    tall, wide = tensor.grid.extents
    assert len({(r // tall, c // wide) for r in part.rows for c in part.columns}) == 1, "of one tile"
    assert part.scale == tensor.scales.effective[row // tall, column // wide]


def test_zeros_are_counted_outside_the_outlier_channels() -> None:
    source = replace(SOURCE, kind=InputKind.OUTLIER_CHANNELS.value, shape=(128, 512))
    part = data.error_map("mxfp4", "fprop_a", source)
    dead = read_back(source.numbers(), data.operand_of_key("mxfp4", "fprop_a")).dead
    others = np.arange(512) % OUTLIER_EVERY != OUTLIER_EVERY // 2
    assert part.has_outliers
    assert part.zeros == dead[:, others].mean() > dead.mean()


def test_a_matrix_takes_the_place_of_the_drawn_numbers() -> None:
    x = np.random.default_rng(0).standard_normal((40, 24)).astype(np.float32)
    np.testing.assert_array_equal(upload(x).numbers(), as_bf16(x))
    np.testing.assert_array_equal(upload(x).weight(), as_bf16(x))
    assert upload(x).nbytes == x.nbytes
    assert upload(x) == upload(x.copy()) != upload(x + 1)
    with pytest.raises(ValueError, match="All of these numbers are zero"):
        upload(0 * x).numbers()


@pytest.mark.parametrize("tensor", [LayerTensor.X, LayerTensor.W, LayerTensor.DY])
def test_the_layer_has_the_tensor_as_it_is(tensor) -> None:
    assert data.layer_shape(tensor, (33, 44)).of(tensor) == (33, 44)
