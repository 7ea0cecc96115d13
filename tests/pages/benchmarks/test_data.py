"""Contract: which rows Benchmarks takes for the same GEMM, and what it calls them."""

from dataclasses import replace

import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.bench.job import Cache, Into
from kernels.bench.machine import Timing
from kernels.gemm.meaning import Summation
from pages.benchmarks import controls as benchmarks_controls
from pages.benchmarks import data as benchmarks_data
from pages.benchmarks import ratios as benchmarks_ratios
from pages.benchmarks.controls import SHAPES, Size, gpu_control
from pages.benchmarks.cost import is_asked
from pages.kit.gemm.results import Origin, Result
from tests.pages.benchmarks.page import JOB
from tests.pages.gemm_rows import gpu_row


def test_no_gpu_at_all_is_a_choice_of_none():
    assert gpu_control([]).options == {benchmarks_controls.NO_GPU: "none"}
    assert gpu_control(["NVIDIA H200", "A GPU"]).default == "nvidia_h200"


@pytest.mark.parametrize(
    ("recipe", "matmul", "asked", "is_recipe_s"),
    [
        ("rowwise", "fprop", Summation.FAST, True),
        ("rowwise", "fprop", Summation.PROMOTED, False),
        ("rowwise", "dgrad", Summation.PROMOTED, True),
        ("rowwise", "dgrad", Summation.FAST, False),
        ("deepseek_v3", "wgrad", Summation.PROMOTED, True),
    ],
)
def test_an_accumulation_asked_for_by_name_is_the_recipe_s_where_it_is(recipe, matmul, asked, is_recipe_s):
    job = replace(JOB, recipe=recipe, matmul=matmul, accumulation=asked)
    assert (benchmarks_data.contender(job) == RECIPES[recipe].title) is is_recipe_s
    assert (benchmarks_data.accumulation(job) is Summation.RECIPE) is is_recipe_s


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
    changed = replace(job, **other)
    assert benchmarks_data.contender(changed) == title
    plain, own = (Result(gpu_row(one), Origin.RECORDED) for one in (job, changed))
    assert len(benchmarks_data.newest([plain, own])) == 2
    asked = (job.matmul, (job.m, job.n, job.k), job.cache)
    assert is_asked(plain, *asked)
    assert not is_asked(own, *asked)


def test_how_long_it_was_timed_makes_no_other_gemm():
    longer = replace(JOB, runs=4, turn_ms=50, settle_ms=100, seed=7)
    assert benchmarks_data.same_gemm(longer) == benchmarks_data.same_gemm(JOB)
    one, other = (Result(gpu_row(job), Origin.RECORDED) for job in (JOB, longer))
    assert benchmarks_data.newest([one, other]) == [other]


def test_a_turn_that_is_timed_late_says_so():
    late = replace(JOB, runs=4, turn_ms=50, settle_ms=100)
    assert benchmarks_data.timed(late) == "hot L2, 4 turns of 50 ms, each 100 ms after its first launch"
    assert benchmarks_data.timed(replace(late, settle_ms=0)) == "hot L2, 4 turns of 50 ms"
    cold = replace(late, cache=Cache.COLD)
    assert benchmarks_data.timed(cold) == "cold L2, 4 turns, each 100 ms after its first launch"
    assert benchmarks_data.timed(replace(cold, settle_ms=0)) == "cold L2, 4 turns"


def test_the_spread_is_between_the_percentiles_of_both():
    own, peer = (
        Timing(median_us=m, p20_us=low, p80_us=high, runs=5) for m, low, high in ((5, 4, 8), (10, 8, 16))
    )
    assert benchmarks_ratios.spread(peer, own) == (1.0, 4.0)


@pytest.mark.parametrize("matmul", MATMULS.values(), ids=lambda matmul: matmul.name)
def test_the_skinny_shapes_have_few_tokens_whichever_dim_they_are(matmul):
    sizes = {key: Size.of(tuple(preset.mnk(matmul).values())) for key, preset in SHAPES.items()}
    skinny = {key for key, size in sizes.items() if size is Size.SKINNY}
    assert skinny == {f"layer_{tokens}" for tokens in (16, 32, 64, 128, 256)}
