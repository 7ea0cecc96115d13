"""Facts about a checkpoint whose scales are rounded when it is read."""

import numpy as np
import pytest

from fp8core.experiments.read_back import as_bf16
from fp8core.experiments.rounded_checkpoint import (
    CHECKPOINT,
    Reading,
    checkpoint_errors,
    read_checkpoint,
)
from fp8core.formats import FORMATS
from fp8core.inputs import InputKind, draw

E4M3 = FORMATS["e4m3"]
BLOCK = CHECKPOINT.tile.k


def weights(seed: int, shape: tuple[int, int] = (256, 384)) -> np.ndarray:
    return as_bf16(draw(InputKind.GAUSSIAN, shape, seed))


def by_hand(w: np.ndarray, reading: Reading) -> np.ndarray:
    """Block by block, in plain words of the sources."""
    read = np.empty(w.shape)
    for row in range(0, w.shape[0], BLOCK):
        for column in range(0, w.shape[1], BLOCK):
            part = np.s_[row : row + BLOCK, column : column + BLOCK]
            block = w[part]
            scale = np.float32(np.abs(block).max()) / np.float32(E4M3.max)
            codes = E4M3.rounded(block * (np.float32(1) / scale))
            if reading is Reading.CODES_KEPT:
                read[part] = codes * 2.0 ** np.ceil(np.log2(float(scale)))
                continue
            again = (codes * scale).astype(np.float32) if reading is not Reading.FROM_START else block
            if reading is Reading.AS_MADE:
                read[part] = codes * float(scale)
                continue
            amax = max(float(np.abs(again).max()), 1e-4)
            power = 2.0 ** np.ceil(np.log2(amax / E4M3.max))
            read[part] = E4M3.rounded(again / np.float32(power)) * power
    return read


@pytest.mark.parametrize("reading", Reading)
def test_a_reading_is_what_its_source_does(reading) -> None:
    for seed in range(2):
        w = weights(seed)
        np.testing.assert_allclose(read_checkpoint(w, reading), by_hand(w, reading), rtol=1e-7)


def test_it_is_the_second_rounding_that_costs() -> None:
    """Figures of the source: the second rounding is worth the first, and they add as √2."""
    w, x = weights(0), weights(1, (64, 384))
    found = {error.reading: error for error in checkpoint_errors(w, x)}
    made, anew, kept, start = (found[reading] for reading in Reading)
    assert made.checkpoint == made.changed == 0
    assert made.weight == pytest.approx(0.0264, abs=0.0006)
    assert anew.checkpoint == pytest.approx(0.0265, abs=0.0006)
    assert anew.weight == pytest.approx(0.0373, abs=0.0010)
    assert start.weight == pytest.approx(0.0265, abs=0.0006)
    assert kept.weight > 0.1
    assert 1 < kept.block_growth < 2
    for error in found.values():
        assert error.result == pytest.approx(error.weight, rel=0.15)
