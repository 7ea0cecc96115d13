"""Fused quantization without a browser: timelines from rows, what is said without any, a live run."""

import json
from dataclasses import replace

import pytest

from fp8core.linear import LayerTensor
from fp8core.recipes import RECIPES
from kernels.layer.timeline.row import Way
from kernels.measure.peak_rates import Limits
from kernels.measure.records import QUANTIZERS
from pages.fused import rows
from pages.fused.kernels import fused_matmuls
from pages.fused.timeline import WAY_NAMES, origin_sentence
from pages.kit.chart_slider import AT, SLIDER
from pages.kit.charts.words import duration
from tests.kernels.layer.timeline.made_up import JOB, timing
from tests.kernels.layer.timeline.steps import every_way, layer_row, record_rows
from tests.kernels.measure.made_up import QUANTIZER, quantizer_row
from tests.kernels.worker.gates import Gate
from tests.pages.gemm_rows import run_until
from tests.pages.specs import in_rows, sent_dataset
from tests.pages.texts import is_quiet, texts

PAGE = "pages/fused.py"

pytestmark = pytest.mark.usefixtures("stand_in_workers")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of recorded timelines: empty, and made-up times are possible in it."""
    monkeypatch.setattr(rows, "LAYER_RECORDS", tmp_path / "layer")
    monkeypatch.setattr("kernels.measure.records.datasheet_limits", lambda name: Limits())
    return tmp_path / "layer"


def dataset(at, chart: int, name: str) -> list[dict]:
    """The rows of a dataset of one of the page's charts."""
    return in_rows(sent_dataset(at.get("vega_lite_chart")[chart], name))


def test_where_nothing_is_recorded_the_page_says_so_and_the_button_has_a_reason(open_app):
    at = open_app(PAGE)
    assert "No timeline of **One SwiGLU MLP block, DeepSeek-V3, 4096 × 4096 × 14336**" in texts(at)
    assert at.button(key="run_timeline").disabled
    assert "This server has no GPU" in texts(at)
    assert not at.get("vega_lite_chart")


def test_every_kernel_is_a_bar_at_its_time_and_the_switch_knows_the_way_before(open_app, folder):
    ways = every_way()
    record_rows(folder, ways)
    at = open_app(PAGE, fused_way="compiled")
    assert not at.exception
    bars, kernels = dataset(at, 0, "kernels"), [kernel for row in ways for kernel in row.kernels]
    assert [bar["start"] for bar in bars] == [kernel.start_us for kernel in kernels]
    assert [bar["end"] for bar in bars] == [kernel.end_us for kernel in kernels]
    first, cast = bars[0], next(bar for bar in bars if bar["role"] == "quantizes")
    assert (first["rate"], first["phase"]) == ("3,000 GB/s, 700 TFLOP/s", "forward")
    assert (cast["traffic"], cast["what"]) == ("257\N{NO-BREAK SPACE}MiB", "quantize for gate and up, 1")
    ends = dataset(at, 0, "tracks")
    assert [end["name"] for end in ends] == list(WAY_NAMES.values())
    assert (ends[0]["speed"], ends[0]["time"]) == (f"{ways[0].times_bf16:.2f}×", duration(ways[0].step_us))
    assert "Recorded on NVIDIA H200, 2026-11-23, torch 2.11.0, commit 0123abc" in texts(at)
    bars = dataset(at, 1, "kernels")
    assert {bar["next"] for bar in bars if bar["lane"] == "naive"} == {"compiled"}
    assert {bar["next"] for bar in bars if bar["lane"] == "bound"} == {""}
    assert {(end["lane"], end["next"]) for end in dataset(at, 1, "ends")} >= {
        ("naive", "compiled"),
        ("bound", ""),
    }
    sums = {(one["lane"], one["role"]): one["words"] for one in dataset(at, 1, "sums")}
    assert sums["naive", "quantizes"] == "quantizes: 30 kernels, 2,700 µs"
    assert sums["ours_kept", "quantizes"] == "quantizes: none"
    assert at.query_params == {"fused_way": "compiled"}
    chart = at.get("vega_lite_chart")[1].proto
    params = {param["name"]: param for param in json.loads(chart.spec)["params"]}
    assert params[SLIDER]["value"] == [{AT: "compiled"}]
    assert params[SLIDER]["bind"]["options"] == ["bf16", "naive", "compiled", "ours", "ours_kept", "bound"]
    assert list(chart.selection_mode) == [SLIDER]
    assert params["way"]["expr"].endswith(': "compiled"')


def test_the_bars_of_a_way_end_at_the_time_beside_them(open_app, folder):
    row = layer_row(Way.OURS)
    record_rows(folder, [layer_row(Way.BF16), replace(row, graph=timing(1.07 * row.span_us))])
    at = open_app(PAGE)
    bars = [bar for bar in dataset(at, 0, "kernels") if bar["lane"] == "fused"]
    assert bars[-1]["end"] == pytest.approx(1.07 * row.span_us)
    assert bars[1]["start"] == pytest.approx(1.07 * row.kernels[1].start_us)
    assert bars[0]["time"] == duration(row.kernels[0].time_us), "of the profile"
    assert dataset(at, 0, "tracks")[1]["time"] == duration(bars[-1]["end"])


def test_the_figures_are_those_of_the_rows(open_app, folder):
    bf16, naive = layer_row(Way.BF16, held_bytes=100 << 20), layer_row(Way.NAIVE)
    ours = layer_row(Way.OURS, weight_bytes=1 << 20)
    record_rows(folder, [bf16, ours, naive])
    at = open_app(PAGE)
    figures = at.dataframe[0].value
    assert list(figures["MiB held"]) == [100.0, *(row.held_bytes / (1 << 20) for row in (naive, ours))]
    assert list(figures["quantizing, µs"])[1] == pytest.approx(30 * 90)
    share = 30 * 90 / naive.span_us
    sentence = f"Op by op, quantizing takes {share:.0%} of the time. Fused, the same step is "
    assert f"{sentence}**{ours.times_bf16:.2f} times as fast as bf16**." in texts(at)


def test_a_kernel_that_starts_early_is_not_counted_twice(open_app, folder):
    row = layer_row(Way.BOUND)
    early = tuple(
        replace(kernel, start_us=kernel.start_us - 30.0, time_us=kernel.time_us + 30.0) if place else kernel
        for place, kernel in enumerate(row.kernels)
    )
    record_rows(folder, [layer_row(Way.BF16), replace(row, kernels=early)])
    at = open_app(PAGE, fused_way="bound")
    sums = {one["role"]: one["words"] for one in dataset(at, 1, "sums") if one["lane"] == "bound"}
    assert (
        sums["multiplies"] == "multiplies: 6 kernels, 3,100 µs"
    )  # 20 µs of gaps before five of the six are filled
    times = [one["time"] for one in dataset(at, 0, "kernels") if one["lane"] == "free casts"]
    assert "10 µs of it beside others" in times[1]


def test_the_newest_row_of_a_way_is_drawn_and_a_broken_line_left_out_and_told(open_app, folder):
    record_rows(folder, [layer_row(Way.BF16), layer_row(Way.BF16, date="2026-11-24", commit="new")])
    (path,) = folder.iterdir()
    path.write_text(path.read_text() + "{\n")
    at = open_app(PAGE)
    assert not at.exception
    assert "2026-11-24, torch 2.11.0, commit new" in texts(at)
    assert "commit 0123abc" not in texts(at)
    assert "line 3: the line is not JSON" in at.warning[0].value.replace("\\", "")


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ({}, "All ways took turns in one run"),
        ({"commit": "b"}, "Not all ways are of one run"),
        ({"bf16": timing(7.0)}, "Not all ways are of one run"),
    ],
)
def test_ways_of_two_runs_are_not_said_to_be_of_one(second, words):
    assert words in origin_sentence(
        [layer_row(Way.BF16), replace(layer_row(Way.OURS), **second)], "nvidia_h200"
    )


def test_another_step_leads_to_the_recorded_ones(open_app, folder):
    record_rows(folder, [layer_row(Way.BF16), layer_row(Way.BF16, replace(JOB, tokens=1024))])
    at = open_app(PAGE, recipe="mxfp8", fused_block="linear")
    assert "is recorded on this GPU. Each link opens one that is:" in texts(at)
    links = [link.proto for link in at.get("page_link") if "fused_tokens" in link.proto.query_string]
    assert [link.label for link in links] == [replace(JOB, tokens=size).title for size in (4096, 1024)]
    assert "fused_block=swiglu_mlp" in links[0].query_string


def test_a_recipe_of_one_s_own_has_no_timeline_and_the_page_says_which_is_shown(open_app, folder):
    record_rows(folder, [layer_row(Way.BF16, note="No cast is in it.")])
    at = open_app(PAGE, recipe="own", own="")
    assert len(at.get("vega_lite_chart")) == 1
    assert f"**{Way.BF16.title}.** No cast is in it." in texts(at)


def test_a_live_run_grows_way_by_way_and_is_labelled_as_this_server_s(open_app, on_gpu, gates, folder):
    record_rows(folder, every_way())
    gates.close(Gate.JOB)
    at = open_app(PAGE, fused_block="linear")
    at.button(key="run_timeline").click().run()
    run_until(at, lambda at: at.get("vega_lite_chart"))
    assert [end["name"] for end in dataset(at, 0, "tracks")] == ["bf16"]
    assert not is_quiet(at)
    gates.open(Gate.JOB)
    run_until(at, is_quiet)
    at.run()
    assert not at.exception
    assert at.query_params["fused_gpu"] == "here"
    assert "GPU: NVIDIA H200, 2026-11-23" in texts(at).replace("\\", "")
    assert "Recorded on" not in texts(at)
    assert [end["name"] for end in dataset(at, 0, "tracks")] == list(WAY_NAMES.values())


@pytest.mark.parametrize("name", ["deepseek_v3", "rowwise", "per_tensor_delayed"])
def test_a_picture_for_each_copy_and_one_for_both(open_app, name):
    at = open_app(PAGE, fused_show="amax", recipe=name)
    words = dataset(at, 0, "words")
    heads, verdicts = ([row["text"] for row in words if row["bold"] is bold] for bold in (False, True))
    copies = RECIPES[name].quantized_copies(LayerTensor.X)
    assert any(head.startswith("both:\n") for head in heads) == (len(copies) > 1)
    address = {
        "deepseek_v3": ["one read"] * 3,
        "rowwise": ["one read", "one read", "two reads:\namax, then codes"],
        "per_tensor_delayed": ["one read:\namax is known"],
    }
    assert verdicts == address[name]
    places = [(row["x"], row["y"]) for row in dataset(at, 0, "codes")]
    reaches = dataset(at, 0, "reaches")
    assert len(reaches) == (0 if name == "per_tensor_delayed" else len(places))
    for (x, y), reach in zip(places, reaches, strict=False):
        assert reach["x"] <= x <= reach["x2"]
        assert reach["y"] <= y <= reach["y2"], "a code lies among the numbers that it waits for"


def test_a_verdict_waits_for_the_answer_that_a_lesson_asks_for(open_app):
    address = {"fused_show": "amax", "recipe": "deepseek_v3", "lesson": "quantizing.1"}
    words = dataset(open_app(PAGE, **address), 0, "words")
    assert [row["text"] for row in words if row["bold"]] == ["", "", ""]


def test_without_recorded_kernels_the_page_says_how_to_measure_and_shows_their_source(open_app):
    at = open_app(PAGE, fused_show="kernels")
    assert "No quantizing kernel is recorded on any GPU yet" in texts(at)
    assert any("def quantize_kernel(" in code.value for code in at.code)


def test_recorded_times_say_why_no_matmul_quantizes_its_own_operands(open_app):
    assert min(fused_matmuls()[:2]) > 1, "fusing does not pay"
    sentence = texts(open_app(PAGE, fused_show="kernels"))
    assert "took **2.35** times as long, quantizing D **1.01** times" in sentence
    assert "Recorded on NVIDIA H200, 2026-11-23, torch 2.11.0" in sentence


def test_a_kernel_is_compared_with_a_copy_and_with_torch_compile(open_app, tmp_path, monkeypatch):
    monkeypatch.setattr("kernels.measure.records.datasheet_limits", lambda name: Limits())
    small = replace(QUANTIZER, rows=64)
    for one in (quantizer_row(), quantizer_row(small, compiled_us=None, note="it failed")):
        QUANTIZERS.record(one, tmp_path)
    at = open_app(PAGE, fused_show="kernels", fused_kernel=QUANTIZER.kernel.value)
    assert not at.exception
    (bar,), (point,) = dataset(at, 0, "bars"), dataset(at, 0, "points")
    assert bar["ratio"] == pytest.approx(QUANTIZER.bytes / 100e3 / 4000)
    assert (bar["name"], point["ratio"]) == ("DeepSeek-V3, x both ways", bar["ratio"] / 2)
    at.segmented_control(key="fused_size").set_value("64x14336").run()
    assert not dataset(at, 0, "points")
    note = "1 launch; 2.50 times as fast as two kernels apart; torch.compile: it failed"
    assert dataset(at, 0, "bars")[0]["note"] == note
    assert at.query_params["fused_size"] == "64x14336"
