"""Contract: a job and a row survive the trip through JSON, derived figures are their formulas, and what is
not a job or a row is refused in a sentence that says what came and what is needed.
"""

import dataclasses
import json

import pytest

from fp8core.recipes import RECIPES, Family
from fp8core.recipes.text import own_text
from kernels.bench.job import Cache, GemmJob, Into
from kernels.bench.machine import Timing
from kernels.bench.ready.job import code_of
from kernels.bench.row import Row
from kernels.typed import from_data, to_data
from tests.kernels.bench.made_up import JOB, ROW


def test_a_row_survives_json() -> None:
    assert from_data(Row, json.loads(json.dumps(to_data(ROW)))) == ROW


def test_a_row_recorded_before_caches_were_told_apart_is_a_hot_one_into_a_new_d() -> None:
    older = to_data(ROW)
    for name in ("cache", "into", "turn_ms", "settle_ms"):
        del older["job"][name]
    for name in ("simple", "torch_op", "why"):
        del older[name]
    read = from_data(Row, older)
    assert (read.job.cache, read.job.into) == (Cache.HOT, Into.NEW)
    assert (read.job.turn_ms, read.job.settle_ms) == (20, 0)
    assert (read.simple, read.times_simple, read.torch_op, read.why) == (None, None, "", "")


OWN = own_text(RECIPES["mxfp6_e3m2"])


def test_a_row_has_the_time_of_dot_scaled_or_none_as_rows_recorded_before_it() -> None:
    timed = dataclasses.replace(ROW, dot_scaled=Timing(median_us=7.0, p20_us=6.5, p80_us=7.5, runs=5))
    assert from_data(Row, json.loads(json.dumps(to_data(timed)))) == timed
    assert timed.times_dot_scaled == pytest.approx(3.5)
    older = to_data(timed)
    del older["dot_scaled"]
    read = from_data(Row, older)
    assert read == ROW
    assert (read.dot_scaled, read.times_dot_scaled) == (None, None)


def test_a_job_carries_the_whole_of_a_recipe_of_ones_own() -> None:
    own = dataclasses.replace(JOB, recipe="own", own=OWN)
    assert from_data(GemmJob, json.loads(json.dumps(to_data(own)))) == own
    assert own.recipe_data.fprop == RECIPES["mxfp6_e3m2"].fprop
    assert (own.recipe_data.name, own.recipe_data.family) == ("own", Family.OWN)
    assert code_of(own).recipe_data == own.recipe_data
    assert code_of(dataclasses.replace(own, own=own_text(RECIPES["mxfp4"]))) != code_of(own)


def test_derived_figures_are_their_formulas() -> None:
    assert JOB.flop == 2 * 256 * 128 * 512
    assert ROW.sqnr_db == pytest.approx(40.0)
    assert ROW.tflop_s == pytest.approx(JOB.flop / 2e-6 / 1e12)
    assert ROW.gb_s == pytest.approx(10_000 / 2e-6 / 1e9)
    assert ROW.times_bf16 == pytest.approx(4.0)
    assert ROW.times_bf16_with_quantize == pytest.approx(2.0)
    assert ROW.times_torch_scaled is None
    assert ROW.times_simple == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"own": OWN}, "a line of an own recipe comes with the recipe own, got 'mxfp8'"),
        ({"recipe": "own"}, "a recipe's line has up to 12 operands"),
        ({"recipe": "own", "own": OWN.replace("e3m2", "e9m9")}, r"fprop\.a\.format is one of e4m3"),
        ({"recipe": "nope"}, "unknown recipe 'nope'; there are per_tensor"),
        ({"matmul": "sgrad"}, "unknown matmul 'sgrad'; there are fprop, dgrad, wgrad"),
        ({"m": -1}, "M is a whole number from 0 to 262144, got -1"),
        ({"k": 262145}, "K is a whole number from 0 to 262144, got 262145"),
        ({"n": 1.5}, "N is a whole number"),
        ({"n": True}, "N is a whole number"),
        ({"seed": -1}, "the seed is a whole number"),
        ({"runs": 0}, "runs is a whole number from 1 to 1000, got 0"),
        ({"settle_ms": -1}, "settle_ms is a whole number from 0 to 1000, got -1"),
        ({"turn_ms": 0}, "turn_ms is a whole number from 1 to 1000, got 0"),
        ({"matmul": "fprop", "into": Into.ACCUMULATE}, "needs an fp32 D, and Fprop of MXFP8 writes bf16"),
    ],
    ids=str,
)
def test_what_is_not_a_job_is_refused(change, sentence) -> None:
    with pytest.raises(ValueError, match=sentence):
        dataclasses.replace(JOB, **change)
    with pytest.raises(ValueError, match=r"^this is no GemmJob: "):
        from_data(GemmJob, {**to_data(JOB), **change})
