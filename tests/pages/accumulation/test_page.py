"""Contract: the page's figures are those of the models, of captured vectors and of recorded GPUs."""

import json
import re
from dataclasses import replace
from itertools import cycle, product

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS, matmul, promoted
from fp8core.experiments.dot_terms import TermKind, draw_terms
from fp8core.formats import FORMATS
from fp8core.inputs import InputKind
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import HOPPER
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import plan_gemm
from kernels.measure.jobs import Cache, GemmJob
from kernels.probe.sweep import SWEPT
from pages.accumulation import units as accumulation_units
from pages.accumulation.charts.curves import LINES
from pages.accumulation.charts.steps import PULLS, STRIP_ROWS, SUMS
from pages.accumulation.cost import pairs
from pages.accumulation.facts import OPERANDS, SHOW, TERMS, UNIT, percent
from pages.kit.chart_slider import SLIDER
from pages.kit.charts.words import short
from pages.kit.inert import plain
from tests.kernels.measure.made_up import changed
from tests.pages.gemm_rows import gpu_row, record, run_until, timing
from tests.pages.specs import in_rows, sent_dataset
from tests.pages.texts import notice, press, texts
from tests.sweeps import each, some_cases

PAGE = "pages/accumulation.py"
TITLE = "Where do the small terms go?"
FAST = ACCUMULATORS["hopper_fast"]


pytestmark = pytest.mark.usefixtures("stand_in_workers")


def result(unit, terms: str, operands: str, k: int, seed: int = 0) -> tuple[float, float]:
    """The unit's sum and the exact one, by matmul and by fp64."""
    format_ = FORMATS[operands]
    a, b = (format_.encode(x) for x in draw_terms(TermKind(terms), (1, 1), k, seed))
    exact = format_.decode(a) @ format_.decode(b).T
    return float(matmul(a, b, format_, format_, unit)[0, 0]), float(exact[0, 0])


@pytest.mark.parametrize("section", SHOW.options)
def test_every_section_draws_and_names_its_sources(open_app, section):
    at = open_app(PAGE, sum_show=section)
    assert not at.exception
    assert at.title[0].value == TITLE
    assert any("arXiv 2511.10909" in caption.value for caption in at.caption)
    assert len(at.get("vega_lite_chart")) == 1
    assert len(notice(at).split()) <= 25


@pytest.mark.parametrize(("unit", "terms"), [*zip(UNIT.options, cycle(TERMS.options))])
def test_every_unit_and_kind_of_numbers_says_what_matmul_gives(open_app, unit, terms):
    at = open_app(PAGE, unit=unit, terms=terms)
    assert not at.exception
    operands = at.selectbox(key="operands").value
    assert operands in ACCUMULATORS[unit].operands
    got, exact = result(ACCUMULATORS[unit], terms, operands, 256)
    points = in_rows(sent_dataset(at.get("vega_lite_chart")[0], STRIP_ROWS))
    end = points[-1]
    assert (end["total"], end["exact"], end["off"]) == (short(got, 6), short(exact, 6), short(got - exact, 3))
    assert (end["side"] == "small") == (abs(got) < abs(exact))


def test_the_picture_s_figures_are_those_of_each_prefix(open_app):
    at = open_app(PAGE, terms="one_large")
    sent = sent_dataset(at.get("vega_lite_chart")[0], SUMS)
    assert sent["step"] == list(range(1, 9))
    format_ = FORMATS["e4m3"]
    a, b = (format_.encode(x) for x in draw_terms(TermKind.ONE_LARGE, (1, 1), 256, 0))
    for step, total, off in zip(sent["step"], sent["total"], sent["off"], strict=True):
        k = 32 * step
        got = matmul(a[:, :k], b[:, :k], format_, format_, FAST)[0, 0]
        exact = (format_.decode(a[:, :k]) @ format_.decode(b[:, :k]).T)[0, 0]
        assert total == short(float(got), 6)
        assert off == short(float(got) - float(exact), 3)


def test_a_c_that_begins_large_takes_bits_of_the_products(open_app):
    at = open_app(PAGE, sum_start="8")
    sent = sent_dataset(at.get("vega_lite_chart")[0], SUMS)
    format_, c = FORMATS["e4m3"], np.full((1, 1), 2.0**8, np.float32)
    a, b = (format_.encode(x) for x in draw_terms(TermKind.SAME_SIGN, (1, 1), 256, 0))
    assert sent["total"][-1] == short(float(matmul(a, b, format_, format_, FAST, c)[0, 0]), 6)
    assert set(sent["unit_name"]) == {"E = 2⁸"}
    lost, without = (int(re.search(r"\*\*(\d+) of 256", notice(one))[1]) for one in (at, open_app(PAGE)))
    assert lost > 3 * without
    promoted = open_app(PAGE, sum_start="8", unit="hopper_promoted")
    assert not sent_dataset(promoted.get("vega_lite_chart")[0], PULLS)["at"], "its c begins at 0"


def test_the_address_s_step_is_where_the_slider_opens_and_is_brought_into_range(open_app):
    def slider() -> tuple[int, int]:
        """Its value, and its end."""
        params = json.loads(at.get("vega_lite_chart")[0].proto.spec)["params"]
        own = next(param for param in params if param["name"] == SLIDER)
        return own["value"][0]["at"], own["bind"]["max"]

    at = open_app(PAGE, step="7")
    assert slider() == (7, 8)
    at.segmented_control(key="sum_k").set_value(64).run()
    assert not at.exception
    assert slider() == (2, 2)
    assert at.query_params == {"step": "2", "sum_k": "64"}


@pytest.mark.parametrize("operands", ["e4m3", "bf16", next(reversed(OPERANDS.options))])
def test_curves_have_every_unit_that_multiplies_the_operands(open_app, operands):
    titles = {unit.title for unit in ACCUMULATORS.values() if operands in unit.operands}
    if operands == "e4m3":
        titles.add("Hopper FP8, promoted every 32")  # the chain, promoted at every step
    at = open_app(PAGE, sum_show="curves", operands=operands, longest_k="1024", terms="zero_mean")
    assert not at.exception
    if not at.get("vega_lite_chart"):
        assert "Every sum comes out exact" in texts(at)
        return
    units = set(sent_dataset(at.get("vega_lite_chart")[0], LINES)["unit"])
    assert all(any(row.startswith(title) for row in units) for title in titles)


def test_the_curves_are_the_errors_of_matmul(open_app):
    at = open_app(PAGE, sum_show="curves", longest_k="1024", seed="3", sum_error="bias")
    sent = sent_dataset(at.get("vega_lite_chart")[0], LINES)
    format_ = FORMATS["e4m3"]
    a, b = (format_.encode(x) for x in draw_terms(TermKind.SAME_SIGN, (16, 16), 1024, 3))
    units = {"Hopper FP8, one chain": FAST, "Hopper FP8, promoted every 32": promoted(FAST, 32)}
    for k, (title, unit) in product((128, 1024), units.items()):
        exact = format_.decode(a[:, :k]) @ format_.decode(b[:, :k]).T
        error = matmul(a[:, :k], b[:, :k], format_, format_, unit) - exact
        chart = next(
            error
            for error, at_k, name in zip(sent["error"], sent["k"], sent["unit"], strict=True)
            if at_k == k and name.startswith(title)
        )
        assert chart == pytest.approx(error.mean() / exact.mean(), rel=1e-9)
        assert chart < 0
    assert "toward zero" in texts(at)


def test_the_size_of_the_error_is_the_recorded_one(open_app):
    """The figures quoted for U(0, 1): -6.6e-2 at K = 4096 in one chain, -5e-4 promoted every 128."""
    at = open_app(PAGE, sum_show="cost")
    assert "one chain is off by 6.6" in texts(at)
    assert re.search(r"every 128 products, as DeepSeek-V3 does, it is off by 0\.0(4|5)", texts(at))
    assert re.search(r"\*\*13\d times as exact\*\*", notice(at))


@pytest.mark.parametrize(
    ("share", "words"), [(0, "0%"), (0.0016, "0.16%"), (-0.066, "−6.6%"), (1.7e-7, "1.7 · 10⁻⁵%")]
)
def test_shares_are_told_in_two_digits(share, words):
    assert percent(share).replace("\N{NO-BREAK SPACE}", " ") == words


SAME = "outputs equal the model, bit for bit"


def measured(job, **changes):
    """A row with the plan that an H200 runs it by."""
    spec = RECIPES[job.recipe].spec(MATMULS[job.matmul])
    plan = plan_gemm(spec, (job.m, job.n, job.k), HOPPER, job.accumulation)
    return gpu_row(job, plan=plan.record, **changes)


JOB = GemmJob(recipe="rowwise", matmul="fprop", m=4096, n=4096, k=7168)
PROMOTED_JOB = replace(JOB, accumulation=Summation.PROMOTED)


def test_recorded_pairs_are_shown_with_their_ratio_once_they_are_there(open_app, tmp_path):
    record(tmp_path, [measured(JOB, ours=timing(200.0))])
    assert (
        "No GEMM is recorded both with fast and with promoted"
        in open_app(PAGE, sum_show="cost").info[0].value
    )
    rows = [
        measured(JOB, ours=timing(200.0), date="2026-11-19"),
        measured(PROMOTED_JOB, ours=timing(260.0)),
        measured(replace(JOB, m=128), ours=timing(50.0)),
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
    fast, slow = measured(JOB), measured(PROMOTED_JOB)
    assert pairs([fast, slow]) == [(fast, slow)]
    own = replace(JOB, recipe="per_tensor", matmul="dgrad")
    rows = [measured(own), measured(replace(own, accumulation=Summation.FAST))]
    assert pairs(rows) == [tuple(reversed(rows))], "a recipe that promotes pairs with its fast sum"
    machine = slow.machine
    others = [
        changed(slow, ours=None),
        replace(slow, plan=None),
        replace(slow, machine=replace(machine, capability=None)),
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
    assert [one.job.cache for one, _ in pairs([*cold, fast, slow])] == [Cache.HOT, Cache.COLD]


def test_every_shipped_vector_is_compared_and_a_wrong_model_is_seen(open_app):
    at = open_app(PAGE, sum_show="units")
    total = 0
    for file in accumulation_units.VECTORS.glob("*.npz"):
        with np.load(file) as arrays:
            total += sum(arrays[name].size for name in arrays.files if name.endswith("/d"))
    assert f"**{total:,} of {total:,} outputs** of a real GPU bit for bit." in texts(at)
    assert "NVIDIA H200, 2026-11-20, torch 2.11.0" in texts(at)
    at.selectbox(key="model_bits").set_value(1).run()
    match = re.search(
        r"With 1 fraction bit more than the unit has, it gives \*\*([\d,]+) of ([\d,]+)", texts(at)
    )
    assert int(match[1].replace(",", "")) < int(match[2].replace(",", "")) == total
    press(at, "Compare again")
    assert not at.exception


def test_the_table_has_every_unit_with_its_numbers(open_app):
    table = next(m.value for m in open_app(PAGE, sum_show="units").markdown if "fraction bits →" in m.value)
    for unit in ACCUMULATORS.values():
        line = next(line for line in table.splitlines() if line.startswith(f"| **{unit.title}**:"))
        assert f"| {unit.fraction_bits} → {unit.out.name} | {unit.fused_products}" in line
        assert line.endswith(f"| {unit.evidence.name.lower()} |")


@pytest.mark.parametrize("operation", some_cases(len(SWEPT), each(SWEPT)))
def test_a_measured_sweep_equals_the_model(open_app, on_gpu, operation):
    at = open_app(PAGE, sum_show="units", probe=operation, longest_k="1024")
    assert not at.button(key="run_sweep").disabled
    at.button(key="run_sweep").click().run()
    run_until(at, lambda at: SAME in texts(at))
    outputs = 6 * 64 * 16
    assert f"{outputs:,} of {outputs:,} {SAME}" in texts(at)
    assert plain("GPU: stand-in, 2026-11-20") in texts(at)
    at.selectbox(key="terms").set_value("zero_mean").run()
    assert SAME not in texts(at)


def test_without_a_gpu_the_page_says_why_nothing_is_measured(open_app):
    at = open_app(PAGE, sum_show="units")
    assert at.button(key="run_sweep").disabled
    assert "This server has no GPU" in texts(at)


def test_a_sweep_that_differs_says_where_first(open_app, on_gpu):
    at = open_app(PAGE, sum_show="units", longest_k="1024", seed="1")
    at.button(key="run_sweep").click().run()
    run_until(at, lambda at: "First difference" in texts(at))
    assert "6,143 of 6,144 outputs equal the model" in texts(at)
    assert plain("[0, 0]: model 1.0, device 2.0") in texts(at)
