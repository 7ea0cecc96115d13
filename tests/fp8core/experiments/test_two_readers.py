"""Facts about one weight that two matmuls read."""

import math

import numpy as np
import pytest

from fp8core.experiments.read_back import as_bf16
from fp8core.experiments.rounded_checkpoint import CHECKPOINT, Reading, checkpoint_errors, read_checkpoint
from fp8core.experiments.tensor_shape import BIN, tensor_shape
from fp8core.experiments.two_readers import copies, disagreement, spec_readers, weight_readers
from fp8core.formats import FORMATS
from fp8core.inputs import InputKind, draw
from fp8core.linear import DGRAD, FPROP, LayerTensor
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES, OperandSpec
from fp8core.scales import E8M0_ROUND_UP, FP32_SCALE
from fp8core.tiles import TileShape

W = as_bf16(draw(InputKind.HEAVY_TAIL, (96, 160), seed=2))


@pytest.mark.parametrize("recipe", RECIPES)
def test_readers_that_share_a_copy_agree_and_others_do_not(recipe) -> None:
    readers = weight_readers(RECIPES[recipe])
    difference = disagreement(W, readers)
    one_copy = RECIPES[recipe].copies(LayerTensor.W) == 1 and None not in readers
    assert (difference.differ == 0) == one_copy
    assert len(copies(readers)) == len(
        {*readers} if None in readers else range(RECIPES[recipe].copies(LayerTensor.W))
    )
    assert difference.elements == W.size
    assert difference.zero_in_one <= difference.differ


@pytest.mark.parametrize("element", ["e4m3", "e2m1"])
@pytest.mark.parametrize("rule", [E8M0_ROUND_UP, FP32_SCALE], ids=["pow2", "fp32"])
def test_counts_are_those_of_two_quantized_copies(element, rule) -> None:
    spec = OperandSpec(format=FORMATS[element], tile=TileShape(1, 32), scale_rule=rule)
    readers = spec_readers(spec)
    assert [reader.k_is_rows for reader in readers] == [
        matmul.k_is_rows(matmul.side_of(LayerTensor.W)) for matmul in (FPROP, DGRAD)
    ]
    first, second = (quantize(W, reader).exact_values() for reader in readers)
    difference = disagreement(W, readers)
    assert difference.differ == np.sum(first != second) > 0
    assert difference.zero_in_one == np.sum((first == 0) ^ (second == 0))
    assert difference.rel_err == pytest.approx(np.linalg.norm(first - second) / np.linalg.norm(W))


def test_a_bf16_reader_sees_the_weight_itself_and_zeros_are_refused() -> None:
    readers = weight_readers(RECIPES["mxfp4_train"])
    assert readers[0] is None
    assert copies(readers) == readers
    assert copies((None, None)) == (None,)
    assert disagreement(W, (None, None)).differ == 0
    with pytest.raises(ValueError, match="all-zero weight"):
        disagreement(0 * W, readers)


E4M3 = FORMATS["e4m3"]
BLOCK = CHECKPOINT.tile.k


def weights(seed: int, shape: tuple[int, int] = (256, 384)) -> np.ndarray:
    return as_bf16(draw(InputKind.GAUSSIAN, shape, seed))


def by_hand(w: np.ndarray, reading: Reading) -> np.ndarray:
    """Block by block, in plain words of the sources."""
    values = np.empty(w.shape)
    for row in range(0, w.shape[0], BLOCK):
        for column in range(0, w.shape[1], BLOCK):
            part = np.s_[row : row + BLOCK, column : column + BLOCK]
            block = w[part]
            scale = np.float32(np.abs(block).max()) / np.float32(E4M3.max)
            codes = E4M3.rounded(block * (np.float32(1) / scale))
            if reading is Reading.CODES_KEPT:
                values[part] = codes * 2.0 ** np.ceil(np.log2(float(scale)))
                continue
            again = (codes * scale).astype(np.float32) if reading is not Reading.FROM_START else block
            if reading is Reading.AS_MADE:
                values[part] = codes * float(scale)
                continue
            amax = max(float(np.abs(again).max()), 1e-4)
            power = 2.0 ** np.ceil(np.log2(amax / E4M3.max))
            values[part] = E4M3.rounded(again / np.float32(power)) * power
    return values


@pytest.mark.parametrize("reading", Reading)
def test_a_reading_is_what_its_source_does(reading) -> None:
    for seed in range(2):
        w = weights(seed)
        np.testing.assert_allclose(read_checkpoint(w, reading), by_hand(w, reading), rtol=1e-7)


def test_it_is_the_second_rounding_that_costs() -> None:
    """Figures of the source: the second rounding is worth the first, and they add as √2."""
    w, x = weights(0), weights(1, (64, 384))
    errors = {error.reading: error for error in checkpoint_errors(w, x)}
    checkpoint, anew, same_codes, start = (errors[reading] for reading in Reading)
    assert checkpoint.checkpoint == checkpoint.changed == 0
    assert checkpoint.weight == pytest.approx(0.0264, abs=0.0006)
    assert anew.checkpoint == pytest.approx(0.0265, abs=0.0006)
    assert anew.weight == pytest.approx(0.0373, abs=0.0010)
    assert start.weight == pytest.approx(0.0265, abs=0.0006)
    assert same_codes.weight > 0.1
    assert 1 < same_codes.block_growth < 2
    for error in errors.values():
        assert error.result == pytest.approx(error.weight, rel=0.15)


def test_a_gaussian_has_the_figures_of_its_law() -> None:
    shape = tensor_shape(np.random.default_rng(0).standard_normal((400, 400)))
    assert shape.rms == pytest.approx(1.0, abs=0.01)
    assert shape.kurtosis == pytest.approx(3.0, abs=0.05)
    assert shape.octaves == pytest.approx(math.log2(2.5758 / 0.012533), abs=0.05)
    assert shape.crest == pytest.approx(4.7, abs=0.8)
    assert shape.rows < 1.25
    assert shape.columns < 1.25


def test_the_histogram_has_every_element_that_is_not_zero_in_its_bin() -> None:
    x = np.array([[0.0, 1.0, 1.0, 1.0], [4.0, 0.25, 0.25, 0.0]])
    shape = tensor_shape(x)
    assert sum(shape.shares) == pytest.approx(6 / 8)
    assert shape.zeros == 2 / 8
    at = shape.bins.index(BIN * math.floor(math.log2(1 / shape.rms) / BIN))
    assert shape.shares[at] == 3 / 8


def test_rows_and_columns_of_other_sizes_are_told_apart() -> None:
    x = np.random.default_rng(2).standard_normal((200, 200))
    tokens, channels = x * np.geomspace(1, 64, 200)[:, None], x * np.geomspace(1, 64, 200)
    assert tensor_shape(tokens).rows > 30 > 2 > tensor_shape(tokens).columns
    assert tensor_shape(channels).columns > 30 > 2 > tensor_shape(channels).rows
    with pytest.raises(ValueError, match="zeros has no shape"):
        tensor_shape(np.zeros((2, 2)))
