"""Contract: which rows Benchmarks takes for the same GEMM, and what it calls them."""

from dataclasses import replace

import pytest

from fp8core.linear import MATMULS
from kernels.gemm.numerics import Summation
from kernels.measure.jobs import Cache, Into
from pages.benchmarks import data as benchmarks_data
from pages.benchmarks.controls import SHAPES, size_of
from pages.benchmarks.cost import is_plain
from pages.kit.gemm.results import Origin, Result
from tests.pages.benchmarks.page import JOB
from tests.pages.gemm_rows import gpu_row


@pytest.mark.parametrize(
    ("job", "other", "title"),
    [
        (
            replace(JOB, recipe="deepseek_v3", matmul="wgrad"),
            {"into": Into.ACCUMULATE},
            "DeepSeek-V3, added into D",
        ),
        (
            replace(JOB, recipe="mxfp8"),
            {"accumulation": Summation.REFOLDED},
            "MXFP8, refolded, not bit-exact",
        ),
    ],
)
def test_another_sum_is_another_contender_and_no_cost_of_the_recipe(job, other, title):
    other_job = replace(job, **other)
    assert benchmarks_data.contender(other_job) == title
    plain, own = (Result(gpu_row(one), Origin.RECORDED) for one in (job, other_job))
    assert len(benchmarks_data.newest([plain, own])) == 2
    gemm = (job.matmul, (job.m, job.n, job.k), job.cache)
    assert is_plain(plain, *gemm)
    assert not is_plain(own, *gemm)


def test_a_turn_that_is_timed_late_says_so():
    late = replace(JOB, runs=4, turn_ms=50, settle_ms=100)
    assert benchmarks_data.timing(late) == "hot L2, 4 turns of 50 ms, each 100 ms after its first launch"
    assert benchmarks_data.timing(replace(late, cache=Cache.COLD, settle_ms=0)) == "cold L2, 4 turns"


@pytest.mark.parametrize("matmul", MATMULS.values(), ids=lambda matmul: matmul.name)
def test_the_skinny_shapes_have_few_tokens_whichever_dim_they_are(matmul):
    sizes = {key: size_of(tuple(preset.mnk(matmul).values())) for key, preset in SHAPES.items()}
    skinny = {key for key, size in sizes.items() if size == "skinny"}
    assert skinny == {f"layer_{tokens}" for tokens in (16, 32, 64, 128, 256)}
