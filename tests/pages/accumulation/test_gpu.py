"""Contract: what "Accumulation" says of real GPUs is what was recorded, captured or measured."""

import re
from dataclasses import replace

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS
from fp8core.inputs import InputKind
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE
from kernels.bench.job import Cache, GemmJob
from kernels.bench.row import Provenance
from kernels.device import HOPPER, Unsupported
from kernels.gemm.arithmetic import Arithmetic
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_gemm
from kernels.probe.job import SWEPT, swept
from kernels.probe.vectors import read_machine, read_vectors, write_vectors
from pages.accumulation import units as accumulation_units
from pages.accumulation.charts.curves import LINES, RINGS
from pages.accumulation.cost import COMPARED, Pair, directions_table, pairs, prices
from pages.accumulation.cost import UNIT as COST_UNIT
from pages.accumulation.data import errors_by_interval
from pages.accumulation.units import fp22_words
from pages.kit.inert import plain
from tests.pages.gemm_rows import gpu_row, record, run_until, timing
from tests.pages.specs import sent_dataset
from tests.pages.texts import texts

SAME = "outputs equal the model, bit for bit"
PAGE = "pages/accumulation.py"
FAST = ACCUMULATORS["hopper_fast"]


@pytest.fixture(autouse=True)
def workers(stand_in_workers):
    return stand_in_workers


def test_a_promotion_s_price_follows_from_its_interval():
    rms = [errors_by_interval(COST_UNIT, kind.value, "e4m3", 1024, 0) for kind in COMPARED]
    found = {(p.numbers, p.every): p for p in prices(rms, 1024)}
    assert sorted({every for _, every in found}) == [32, 64, 128, 256, 512, 1024]
    assert found["Same sign", 128].additions == 1000 / 256
    assert [p.rms for p in prices(rms, 1024) if p.numbers == "Zero mean"] == list(rms[1])


ASKED = GemmJob(recipe="rowwise", matmul="fprop", m=4096, n=4096, k=7168)
ASKED_PROMOTED = replace(ASKED, accumulation=Summation.PROMOTED)


@pytest.mark.parametrize("matmul", MATMULS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_s_own_accumulation_pairs_with_the_one_it_is_not(recipe, matmul):
    job = replace(ASKED, recipe=recipe, matmul=matmul)
    own = gpu_row(job, gemm=timing(100.0))
    asked = {
        how: gpu_row(replace(job, accumulation=how), gemm=timing(110.0))
        for how in (Summation.FAST, Summation.PROMOTED, Summation.REFOLDED)
    }
    spec = RECIPES[recipe].spec(MATMULS[matmul])
    plan = plan_gemm(spec, (job.m, job.n, job.k), HOPPER, Summation.RECIPE)
    sums_fp8 = not isinstance(plan, Unsupported) and plan.meaning.arithmetic is Arithmetic.FP8
    if spec.extents_along_k or not sums_fp8:  # no sum runs over all of K where scales change along it
        assert pairs([own, *asked.values()]) == []
    elif spec.accumulator.promotion is WHOLE:
        assert pairs([own, asked[Summation.PROMOTED]]) == [Pair(own, asked[Summation.PROMOTED], every=128)]
    else:
        assert pairs([own, asked[Summation.FAST]]) == [Pair(asked[Summation.FAST], own, every=128)]


def test_recorded_pairs_are_shown_with_their_ratio_once_they_are_there(open_app, tmp_path):
    record(tmp_path, [gpu_row(ASKED, gemm=timing(200.0))])
    assert (
        "No GEMM is recorded both with fast and with promoted"
        in open_app(PAGE, sum_show="cost").info[0].value
    )
    rows = [
        gpu_row(ASKED, gemm=timing(200.0), date="2026-11-19"),
        gpu_row(ASKED_PROMOTED, gemm=timing(260.0)),
        gpu_row(replace(ASKED, m=128), gemm=timing(50.0)),
    ]
    record(tmp_path, rows)
    at = open_app(PAGE, sum_show="cost")
    assert not at.info
    table = next(m.value for m in at.markdown if m.value.startswith("| GEMM"))
    line = table.splitlines()[-1]
    assert "| 200 µs" in line
    assert "| every 128 products: 260 µs" in line
    assert "1.3 times as long" in line
    assert plain("NVIDIA H200, 2026-11-19 and 2026-11-20, torch 2.11.0, triton 3.6.0") in line
    assert table.count("\n") == 2


def test_rows_that_differ_in_more_than_promotion_are_no_pair():
    fast, slow = gpu_row(ASKED), gpu_row(ASKED_PROMOTED)
    assert [(pair.fast, pair.promoted) for pair in pairs([fast, slow])] == [(fast, slow)]
    machine = slow.machine
    others = [
        replace(slow, gemm=None),
        replace(slow, provenance=Provenance.INTERPRETER),
        replace(slow, machine=replace(machine, name="another GPU")),
        replace(slow, machine=replace(machine, versions={**machine.versions, "triton": "3.7.0"})),
        *(
            replace(slow, job=replace(slow.job, **change))
            for change in (
                {"cache": Cache.COLD},
                {"k": 4096},
                {"matmul": "dgrad"},
                {"input": InputKind.HEAVY_TAIL},
                {"settle_ms": 100},
            )
        ),
    ]
    assert [pairs([fast, other]) for other in others] == [[]] * len(others)
    cold = [replace(row, job=replace(row.job, cache=Cache.COLD)) for row in (fast, slow)]
    assert [pair.fast.job.cache for pair in pairs([*cold, fast, slow])] == [Cache.HOT, Cache.COLD]


def test_every_shipped_vector_is_compared_and_a_wrong_model_is_seen(open_app):
    at = open_app(PAGE, sum_show="units")
    total = 0
    for file in accumulation_units.VECTORS.glob("*.npz"):
        with np.load(file) as arrays:
            total += sum(arrays[name].size for name in arrays.files if name.endswith("/d"))
    assert f"**{total:,} of {total:,} outputs** of a real GPU bit for bit." in texts(at)
    assert "NVIDIA H200, 2026-11-20, torch 2.11.0" in texts(at)
    at.selectbox(key="model_bits").set_value(1).run()
    counted = re.search(
        r"With 1 fraction bit more than the unit has, it gives \*\*([\d,]+) of ([\d,]+)", texts(at)
    )
    assert int(counted[1].replace(",", "")) < int(counted[2].replace(",", "")) == total
    next(button for button in at.button if button.label == "Compare again").click().run()
    assert not at.exception


def test_the_table_has_every_unit_with_its_numbers(open_app):
    table = next(m.value for m in open_app(PAGE, sum_show="units").markdown if "fraction bits →" in m.value)
    for unit in ACCUMULATORS.values():
        line = next(line for line in table.splitlines() if line.startswith(f"| **{unit.title}**:"))
        assert f"| {unit.fraction_bits} → {unit.out.name} | {unit.fused_products}" in line
        assert line.endswith(f"| {unit.evidence.name.lower()} |")


def test_vectors_that_cannot_be_read_are_told_and_the_others_are_compared(open_app, monkeypatch, tmp_path):
    (whole,) = accumulation_units.VECTORS.glob("*.npz")
    (tmp_path / "cut.npz").write_bytes(whole.read_bytes()[:5000])
    one = next(read_vectors(whole))
    write_vectors(tmp_path / "other.npz", [replace(one, operation="tcgen99")], read_machine(whole))
    write_vectors(tmp_path / "small.npz", [one], read_machine(whole))
    monkeypatch.setattr(accumulation_units, "VECTORS", tmp_path)
    at = open_app(PAGE, sum_show="units")
    assert not at.exception
    told = [warning.value for warning in at.warning]
    assert told[0].startswith("cut.npz holds no captured vectors\\: ")
    assert told[1:] == ["other.npz has vectors of tcgen99, which has no model here. It is left out."]
    assert f"**{one.d.size:,} of {one.d.size:,} outputs** of a real GPU" in texts(at)
    for file in tmp_path.glob("*.npz"):
        file.unlink()
    assert "No captured vectors" in open_app(PAGE, sum_show="units").info[0].value


@pytest.mark.parametrize("operation", SWEPT)
def test_a_measured_sweep_lies_on_the_predicted_line(open_app, on_gpu, operation):
    at = open_app(PAGE, sum_show="units", probe=operation, longest_k="1024")
    assert not at.button(key="run_sweep").disabled
    at.button(key="run_sweep").click().run()
    run_until(at, lambda at: SAME in texts(at))
    outputs = 6 * 64 * 16
    assert f"{outputs:,} of {outputs:,} {SAME}" in texts(at)
    assert plain("GPU: stand-in, 2026-11-20") in texts(at)
    line, rings = (sent_dataset(at.get("vega_lite_chart")[1], name) for name in (LINES, RINGS))
    assert swept(operation).title in line["unit"][0]
    assert len(rings["k"]) == 6
    assert (rings["k"], rings["error"]) == (line["k"], line["error"])
    at.selectbox(key="terms").set_value("zero_mean").run()
    assert SAME not in texts(at)


def test_without_a_gpu_an_old_address_shows_why_nothing_is_measured(open_app):
    at = open_app(PAGE, sum_show="measured")
    assert at.button(key="run_sweep").disabled
    assert "This server has no GPU" in texts(at)


def test_a_sweep_that_differs_says_where_first(open_app, on_gpu):
    at = open_app(PAGE, sum_show="units", longest_k="1024", seed="1")
    at.button(key="run_sweep").click().run()
    run_until(at, lambda at: "First difference" in texts(at))
    assert "6,143 of 6,144 outputs equal the model" in texts(at)
    assert plain("[0, 0]: model 1.0, device 2.0") in texts(at)


def test_the_table_says_of_each_recipe_how_its_matmuls_add():
    rows = {
        title: [cell.strip() for cell in line.strip("|").split("|")][:3]
        for line in directions_table().splitlines()
        for title in re.findall("“(.*?)”", line)
    }
    every = RECIPES["deepseek_v3"].fprop.accumulator.promotion
    promoted = f"promoted every {every}"
    assert rows[RECIPES["per_tensor"].title] == ["one chain", promoted, promoted]
    assert rows[RECIPES["rowwise_hp_wgrad"].title] == ["one chain", promoted, "bf16"]
    assert rows[RECIPES["deepseek_v3"].title] == [promoted] * 3
    assert RECIPES["mxfp8"].title not in rows
    assert "**fp22**" in fp22_words()
