"""Contract: the constants explain recorded launches as well as their file says, and choose well among them.

samples.jsonl has launches of an H200 on random shapes: some GEMMs of each recipe, each under several blocks.
"""

from collections import defaultdict
from math import log
from pathlib import Path

import pytest

from kernels.bench.any_shape import percentile
from kernels.device import HOPPER
from kernels.gemm.cost.choose import predicted_us
from kernels.gemm.cost.constants import constants_of
from kernels.tune.sample import read_samples

SAMPLES = read_samples(Path(__file__).parent / "samples.jsonl")


@pytest.fixture(scope="module")
def predicted():
    """The model's microseconds for each sample."""
    return [
        predicted_us(sample.gemm.meaning(HOPPER), sample.blocks, sample.gemm.mnk, HOPPER)
        for sample in SAMPLES
    ]


def test_the_error_is_the_one_that_the_file_says(predicted):
    error = constants_of(HOPPER).error
    found = [abs(log(us / sample.us)) for us, sample in zip(predicted, SAMPLES, strict=True)]
    assert len(found) > 100
    assert percentile(found, 0.5) < 1.5 * error.median
    assert percentile(found, 0.95) < 1.5 * error.p95


def test_the_models_choice_is_near_the_best_that_was_measured(predicted):
    gemms = defaultdict(list)
    for us, sample in zip(predicted, SAMPLES, strict=True):
        gemms[sample.gemm].append((us, sample.us))
    regrets = [min(each)[1] / min(us for _, us in each) - 1 for each in gemms.values()]
    assert len(regrets) > 30
    assert percentile(regrets, 0.5) <= 0.03
    assert percentile(regrets, 0.95) <= 0.12
