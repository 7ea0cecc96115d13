"""Facts about what the pool measures for "Outliers"."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from fp8core.experiments.error_curves import BAND_K, DRAWS, Counted
from fp8core.experiments.operand_error import operand_error, tile_errors, tile_zeros
from fp8core.experiments.read_back import as_bf16, read_back
from fp8core.inputs import InputKind
from fp8core.linear import MATMULS, LayerTensor, Side
from fp8core.recipes import RECIPES
from pages.sections.outliers.charts.colors import LEAST, MOST, share_of_error, table
from pages.sections.outliers.controls import RECIPES_SHOWN, ROLE
from pages.sections.outliers.measures import (
    crest,
    layer,
    layer_shape,
    measured,
    operand_of_key,
    role_of,
    tile_sizes,
)
from pages.sections.outliers.source import Matrix, Source, bands
from tests.cpu import cpu_seconds

RERUN_MS, SLOW_MACHINE = 150, 2
SHAPE = (128, 256)
SOURCE = Source(kind=InputKind.HEAVY_TAIL.value, shape=SHAPE, seed=3)


def uploaded(x: np.ndarray) -> Source:
    matrix = Matrix(digest=str(x.sum()), shape=x.shape, data=x.astype(np.float32).tobytes())
    return replace(SOURCE, shape=x.shape, matrix=matrix)


def test_every_role_names_a_matmul_and_a_side() -> None:
    assert [role_of(role) for role in ROLE.options] == [(m, side) for m in MATMULS.values() for side in Side]


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_picture_has_the_color_of_each_tile(recipe) -> None:
    role = "dgrad_a"
    operand = operand_of_key(recipe, role)
    found = measured(recipe, role, SOURCE)
    read = read_back(SOURCE.numbers(), operand, SOURCE.seed)
    assert found.error.total == operand_error(read).total
    for png, shares in (
        (found.map.error_png, share_of_error(tile_errors(read))),
        (found.map.zeros_png, tile_zeros(read)),
    ):
        picture = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
        levels = np.round(255 * read.grid.expand(shares)).astype(int)
        np.testing.assert_array_equal(picture, table()[levels])
    assert found.map.tiles == read.scale.size


def test_the_regions_cover_the_tensor_and_share_its_error() -> None:
    found = measured("mxfp4", "fprop_a", SOURCE)
    read = read_back(SOURCE.numbers(), operand_of_key("mxfp4", "fprop_a"))
    cover = np.zeros(SHAPE, int)
    for region in found.map.regions:
        part = np.s_[region.rows.start : region.rows.stop, region.columns.start : region.columns.stop]
        cover[part] += 1
        size = np.linalg.norm(read.given[part])
        assert region.error * size == pytest.approx(np.linalg.norm(read.error[part]))
        assert region.zeros == pytest.approx(np.mean((read.values[part] == 0) & (read.given[part] != 0)))
    assert (cover == 1).all()


def test_the_scale_of_colors_ends_where_it_says() -> None:
    shares = share_of_error(np.array([0, LEAST, 1e-2, MOST, 7]))
    assert shares[[0, 1, 3, 4]].tolist() == [0, 0, 1, 1]
    assert 0 < shares[2] < 1
    assert len(np.unique(table(), axis=0)) > 200


def test_a_matrix_takes_the_place_of_the_drawn_numbers() -> None:
    x = np.random.default_rng(0).standard_normal((40, 24)).astype(np.float32)
    np.testing.assert_array_equal(uploaded(x).numbers(), as_bf16(x))
    np.testing.assert_array_equal(uploaded(x).weight(), as_bf16(x))
    assert uploaded(x).nbytes == x.nbytes
    assert uploaded(x) == uploaded(x.copy()) != uploaded(x + 1)
    with pytest.raises(ValueError, match="All of these numbers are zero"):
        uploaded(0 * x).numbers()


@pytest.mark.parametrize("k_is_rows", [False, True])
def test_draws_are_bands_of_a_matrix_that_span_the_contracted_dim(k_is_rows) -> None:
    x = as_bf16(np.random.default_rng(1).standard_normal((40, 24)))
    parts = bands(uploaded(x), k_is_rows)
    assert len(parts) == DRAWS
    np.testing.assert_array_equal(np.concatenate(parts, axis=1 if k_is_rows else 0), x)
    with pytest.raises(ValueError, match="bands of your matrix"):
        bands(uploaded(x[:3, :3]), k_is_rows)
    drawn = bands(SOURCE, k_is_rows)
    assert len({part.tobytes() for part in drawn}) == DRAWS


@pytest.mark.parametrize("role", ["fprop_a", "wgrad_b"])
def test_the_longest_tile_spans_k(role) -> None:
    found = tile_sizes("deepseek_v3", role, SOURCE, Counted.ALL)
    assert found.curve[-1].at == BAND_K
    assert [point.at for point in found.curve] == sorted({point.at for point in found.curve})
    assert all(len(point.sqnr_db) == DRAWS for point in found.curve)


@pytest.mark.parametrize("tensor", [LayerTensor.X, LayerTensor.W, LayerTensor.DY])
def test_the_layer_has_the_tensor_as_it_is(tensor) -> None:
    assert layer_shape(tensor, (33, 44)).of(tensor) == (33, 44)


def test_a_bf16_operand_has_no_error_to_show() -> None:
    assert measured("mxfp4_train", "fprop_a", SOURCE) is None


@pytest.mark.parametrize(
    "work",
    [
        lambda key, source: measured(key, "fprop_a", source),
        lambda key, source: crest(key, "fprop_a", source.seed, Counted.ALL),
        lambda key, source: layer(key, "fprop_a", source),
    ],
    ids=["measured", "crest", "layer"],
)
def test_two_processes_have_four_recipes_ready_within_a_rerun(work) -> None:
    """The processor's seconds on numbers nobody had before, the lesser of two: noise only adds."""
    sources = [Source(kind="outlier_channels", shape=(512, 1024), seed=seed) for seed in (71, 72)]

    def four(source: Source) -> None:
        for key in RECIPES_SHOWN.default:
            work(key, source)

    four(replace(SOURCE, shape=(512, 1024)))
    took_ms = [1e3 * cpu_seconds(lambda source=source: four(source)) / 2 for source in sources]
    assert min(took_ms) < SLOW_MACHINE * RERUN_MS, took_ms
