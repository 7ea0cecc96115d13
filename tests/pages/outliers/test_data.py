"""What the pool measures for "Outliers" is that of the experiments."""

from dataclasses import replace

import numpy as np
import pytest

from fp8core.experiments.operand_error import operand_error
from fp8core.experiments.read_back import as_bf16, read_back
from fp8core.inputs import OUTLIER_EVERY, InputKind
from fp8core.linear import LayerTensor
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES
from pages.outliers.data import (
    CORNER,
    RUN,
    ZERO,
    Matrix,
    Source,
    codes_of,
    layer_shape,
    measured,
    operand_of_key,
)

SHAPE = (128, 256)
SOURCE = Source(kind=InputKind.HEAVY_TAIL.value, shape=SHAPE, seed=3)


def uploaded(x: np.ndarray) -> Source:
    matrix = Matrix(digest=str(x.sum()), shape=x.shape, data=x.astype(np.float32).tobytes())
    return replace(SOURCE, shape=x.shape, matrix=matrix)


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_map_has_the_level_of_each_element_around_the_largest(recipe) -> None:
    role = "dgrad_a"
    found = measured(recipe, role, SOURCE)
    read = read_back(SOURCE.numbers(), operand_of_key(recipe, role), SOURCE.seed)
    assert found.error.total == operand_error(read).total
    corner = np.s_[found.rows.start : found.rows.stop, found.columns.start : found.columns.stop]
    assert found.levels.shape == CORNER
    np.testing.assert_array_equal(found.levels == ZERO, read.dead[corner])
    x = SOURCE.numbers()
    assert found.largest.max() == np.abs(x).max()
    np.testing.assert_array_equal(found.levels[read.error[corner] == 0], 0)


@pytest.mark.parametrize("role", ["fprop_a", "wgrad_b"])
@pytest.mark.parametrize("recipe", ["per_tensor", "deepseek_v3", "mxfp4", "nvfp4"])
def test_the_codes_of_a_tile_are_the_quantizers(recipe, role) -> None:
    operand, (row, column) = operand_of_key(recipe, role), (100, 145)
    found = codes_of(recipe, role, SOURCE, row, column)
    made = quantize(SOURCE.numbers(), operand)
    here = np.ix_(found.rows, found.columns)
    assert found.codes == made.codes[here].ravel().tolist()
    assert found.values == made.exact_values()[here].ravel().tolist()
    assert row in found.rows
    assert column in found.columns
    assert len(found.codes) == RUN
    tall, wide = made.grid.extents
    assert len({(r // tall, c // wide) for r in found.rows for c in found.columns}) == 1, "of one tile"
    assert found.scale == made.scales.effective[row // tall, column // wide]


def test_zeros_are_counted_outside_the_outlier_channels() -> None:
    source = replace(SOURCE, kind=InputKind.OUTLIER_CHANNELS.value, shape=(128, 512))
    found = measured("mxfp4", "fprop_a", source)
    dead = read_back(source.numbers(), operand_of_key("mxfp4", "fprop_a")).dead
    others = np.arange(512) % OUTLIER_EVERY != OUTLIER_EVERY // 2
    assert found.has_outliers
    assert found.zeros == dead[:, others].mean() > dead.mean()


def test_a_matrix_takes_the_place_of_the_drawn_numbers() -> None:
    x = np.random.default_rng(0).standard_normal((40, 24)).astype(np.float32)
    np.testing.assert_array_equal(uploaded(x).numbers(), as_bf16(x))
    np.testing.assert_array_equal(uploaded(x).weight(), as_bf16(x))
    assert uploaded(x).nbytes == x.nbytes
    assert uploaded(x) == uploaded(x.copy()) != uploaded(x + 1)
    with pytest.raises(ValueError, match="All of these numbers are zero"):
        uploaded(0 * x).numbers()


@pytest.mark.parametrize("tensor", [LayerTensor.X, LayerTensor.W, LayerTensor.DY])
def test_the_layer_has_the_tensor_as_it_is(tensor) -> None:
    assert layer_shape(tensor, (33, 44)).of(tensor) == (33, 44)
