"""Contract: the model picks blocks near the best that were measured, every plan that follows can run, and a
plan of a new shape takes few calls.
"""

import sys
from collections import Counter, defaultdict
from dataclasses import replace
from math import log
from pathlib import Path
from random import Random

import numpy as np
import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import ADA, BLACKWELL, HOPPER
from kernels.gemm import choose
from kernels.gemm.blocks import Blocks, Variant
from kernels.gemm.cost import rates_of, read
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import GemmPlan, plan_built_in, plan_gemm
from kernels.gemm.variants import refusal
from kernels.measure.fit import Launches, Sample, fit, read_samples, write
from kernels.measure.jobs import GemmJob
from kernels.measure.random_shapes import draw_shapes, percentile
from kernels.paths import TOP


def numerics(recipe, matmul, device=HOPPER):
    spec = RECIPES[recipe].spec(MATMULS[matmul])
    return plan_built_in(spec, (4096, 4096, 4096), device, Summation.RECIPE).numerics


def test_a_file_without_rates_is_named(tmp_path):
    (tmp_path / "sm_90.json").write_text("{}")
    with pytest.raises(ValueError, match=r"^sm_90.json has no rates of a cost model: "):
        read(tmp_path / "sm_90.json")


@pytest.mark.parametrize("device", [HOPPER, ADA, BLACKWELL], ids=lambda device: device.name)
def test_every_plan_of_a_random_draw_can_run(device):
    """GemmPlan refuses blocks that its variant does not carry out; a variant, shapes that it cannot load."""
    dice = Random(5)
    for layer in draw_shapes(60, seed=11):
        recipe, matmul = dice.choice([*RECIPES]), dice.choice([*MATMULS.values()])
        mnk = matmul.mnk(layer)
        plan = plan_gemm(RECIPES[recipe].spec(matmul), mnk, device, Summation.RECIPE)
        assert isinstance(plan, GemmPlan), (recipe, mnk, plan)
        assert refusal(plan.variant, plan.numerics, mnk, device) == "", (recipe, mnk)
        assert isinstance(plan.blocks, Blocks)
        assert plan.blocks.splits(mnk[2])[0] <= plan.blocks.split_k


def best(numerics, mnk, variants) -> Variant:
    """The variant of the fastest blocks."""
    return choose.best_blocks(numerics, mnk, HOPPER, frozenset(variants))[0].variant


def test_a_variant_that_was_never_measured_runs_only_where_no_other_can(monkeypatch):
    rowwise, mnk, known = numerics("rowwise", "fprop"), (4096, 4352, 512), rates_of(HOPPER)
    assert best(rowwise, mnk, Variant) is not Variant.SIMPLE
    only = replace(known, variants={Variant.SIMPLE.value: known.variants[Variant.SIMPLE.value]})
    monkeypatch.setattr(choose, "rates_of", lambda device: only)
    for each in (choose.numbers_of, choose.best_blocks):
        each.cache_clear()
    assert best(rowwise, mnk, Variant) is Variant.SIMPLE
    assert best(rowwise, mnk, {Variant.CHAINED}) is Variant.CHAINED
    for each in (choose.numbers_of, choose.best_blocks):
        each.cache_clear()


@pytest.mark.parametrize("recipe", ["rowwise", "deepseek_v3", "mxfp8", "nvfp4"])
def test_a_plan_of_a_shape_that_no_table_has_takes_few_calls(recipe):
    spec, calls = RECIPES[recipe].fprop, Counter()
    for n in (4112, 4128):  # the first looks up what no shape changes
        plan_gemm(spec, (71, n, 7168), HOPPER, Summation.RECIPE)

    def count(frame, event, argument):
        if event == "call":
            calls[frame.f_code.co_filename] += 1

    sys.setprofile(count)
    try:
        plan_gemm(spec, (71, 4144, 7168), HOPPER, Summation.RECIPE)
    finally:
        sys.setprofile(None)
    own = [path for path in calls if path.startswith(str(TOP)) and "site-packages" not in path]
    assert sum(calls.values()) < 1000
    assert len(own) <= 8, own


SAMPLES = read_samples(Path(__file__).parent / "samples.jsonl")


def test_the_models_choice_is_near_the_best_that_was_measured():
    predicted = Launches(SAMPLES, HOPPER).predict_us(rates_of(HOPPER)).tolist()
    errors = [abs(log(us / each.us)) for us, each in zip(predicted, SAMPLES, strict=True)]
    assert percentile(errors, 0.5) < 0.08
    gemms = defaultdict(list)
    for us, each in zip(predicted, SAMPLES, strict=True):
        gemms[each.gemm].append((us, each.us))
    regrets = [min(each)[1] / min(us for _, us in each) - 1 for each in gemms.values() if len(each) > 1]
    assert len(regrets) > 30
    assert percentile(regrets, 0.5) <= 0.03
    assert percentile(regrets, 0.95) <= 0.12


def test_a_fit_finds_the_rates_behind_the_times_of_a_class_that_nobody_measured(tmp_path):
    known = rates_of(HOPPER)
    name = Counter(Launches(SAMPLES, HOPPER).classes).most_common(1)[0][0]
    doubled = known.classes[name] | {"product_ns": 2 * known.classes[name]["product_ns"], "step_ns": 200.0}
    truth = replace(known, classes=known.classes | {name: doubled})
    times = Launches(SAMPLES, HOPPER).predict_us(truth).tolist()
    samples = [replace(each, us=us) for each, us in zip(SAMPLES, times, strict=True)]
    forgotten = {key: each | {"count": 0} for key, each in known.classes.items() if key != name}
    write(fit(samples, HOPPER, replace(known, classes=forgotten)), tmp_path / "rates.json")
    fitted = read(tmp_path / "rates.json")
    errors = np.abs(np.log(Launches(samples, HOPPER).predict_us(fitted) / times))
    before = np.abs(np.log(Launches(samples, HOPPER).predict_us(replace(known, classes=forgotten)) / times))
    assert np.median(errors) < 0.02 < 0.05 < np.max(before)
    assert fitted.classes[name]["count"] == Launches(SAMPLES, HOPPER).classes.count(name)


@pytest.mark.parametrize(
    ("n", "alone_us", "split_us"),
    [(8192, 58.2, 72.6), (9216, 95.5, 78.4), (10_240, 97.7, 81.8), (16_384, 110.2, 123.7)],
)
def test_k_is_split_where_two_programs_share_a_way_to_memory(n, alone_us, split_us):
    """Times on an H200, 2026-11-29, K whole and split in three: 64 blocks have a TPC each, 72 have not."""
    blocks = Blocks(
        variant=Variant.SMALL_M, block_m=64, block_n=128, block_k=128, warps=8, stages=8, persistent=True
    )
    job = GemmJob(recipe="per_tensor_e4m3", matmul="fprop", m=64, n=n, k=28_672)
    both = [Sample(gemm=job, blocks=replace(blocks, split_k=split), us=1.0) for split in (1, 3)]
    alone, split = Launches(both, HOPPER).predict_us(rates_of(HOPPER))
    assert (alone < split) == (alone_us < split_us)


@pytest.mark.parametrize(
    ("recipe", "matmul", "mnk", "best"),
    [
        # five waves of low blocks, 161 µs; the simple kernel takes 171
        ("per_tensor_e4m3", "fprop", (7861, 1104, 10960), (Variant.SMALL_M, 128, 128)),
        # 153 µs; low blocks of bf16 wait for shared memory, 173
        ("mxfp8", "wgrad", (5856, 1536, 4500), (Variant.DECODING, 128, 256)),
        # 53 µs; in a block of 128 rows TMA fills 61 with zeros, 69
        ("per_tensor", "dgrad", (67, 18432, 7168), (Variant.SMALL_M, 64, 128)),
    ],
    ids=["waves", "shared memory", "zeros"],
)
def test_what_bounds_low_blocks_decides_on_them(recipe, matmul, mnk, best):
    """Times on an H200, 2026-11-29: of the best blocks, and of those chosen without the bound."""
    plan = plan_gemm(RECIPES[recipe].spec(MATMULS[matmul]), mnk, HOPPER, Summation.RECIPE)
    assert (plan.variant, plan.blocks.block_m, plan.blocks.block_n) == best
