"""The charts of a measured GEMM: every element of D in one patch, every bar as long as its time."""

import math
from dataclasses import replace

import pytest

from fp8core.experiments.element_sum import MOST, element_sum
from kernels.measure.rows import Worst
from pages.kit.charts.ink import INKS
from pages.kit.charts.recipe_marks import BF16
from pages.live_gemm.charts.error_map import cut, error_map
from pages.live_gemm.charts.timings import MATMUL, OURS, PEER, QUANTIZE, Contender, Figure, timings
from pages.live_gemm.element import gpu_words, read_element, sampled, too_large
from tests.kernels.measure.made_up import changed
from tests.kernels.worker.stand_in import Act, job, row
from tests.pages.specs import dataset, rows

BANDS_MOST = 32


def test_patches_are_the_bands_that_were_measured():
    for size in range(1, 3000):
        tall = max(1, -(-size // BANDS_MOST))
        tops = range(0, size, tall)
        assert [(band.start, band.stop) for band in cut(size, len(tops))] == [
            (top, min(top + tall, size)) for top in tops
        ]


FIGURES = [("3.7%", "error of D", 0.0), ("3.7%", "by quantization", 1.0), ("0.2%", "by the sum", 0.05)]


def drawn_map(bands, shape, worst=(), *, m="m", n="n"):
    return error_map(bands, shape, worst, FIGURES, 300, INKS["light"], m=m, n=n)


def test_every_element_is_in_one_patch_with_its_error():
    spec = drawn_map([[1, 2, 3], [4, 5, 6]], (5, 7))
    patches = rows(spec, "patches")
    elements = [(i, j) for p in patches for i in range(p["m0"], p["m1"]) for j in range(p["n0"], p["n1"])]
    assert sorted(elements) == [(i, j) for i in range(5) for j in range(7)]
    assert [patch["error"] for patch in patches] == [1, 2, 3, 4, 5, 6]
    assert [(p["rows"], p["columns"]) for p in patches[2:4]] == [("0…2", "6"), ("3…4", "0…2")]


def test_the_square_holds_all_of_d_and_the_colors_all_errors():
    heat = drawn_map([[1, 7], [4, math.nan]], (5, 7))["layer"][0]["encoding"]
    assert heat["x"]["scale"]["domain"] == [0, 7]
    assert heat["y"]["scale"]["domain"] == [0, 5]
    assert heat["color"]["scale"]["domain"] == [1, 7]


def test_the_worst_elements_are_ringed_where_they_are_and_say_how_far_they_are_off():
    first, second = rows(drawn_map([[1.0]], (8, 8), [(2, 5, 2.0, 1.5), (0, 1, -4.0, -5.0)]), "worst")
    assert (first["m"], first["n"], first["element"]) == (2.5, 5.5, "D[2, 5]")
    assert first["words"] == "1.5, exact 2: 25% too small"
    assert second["words"] == "−5, exact −4: 25% too large"


def test_an_error_that_is_no_number_is_left_out_of_the_picture():
    spec = drawn_map([[math.nan, math.inf]], (2, 2), [(0, 0, 1.0, math.nan)])
    assert dataset(spec, "patches")["error"] == [None, None]
    assert dataset(spec, "worst")["result"] == [None]
    low, high = spec["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert low < high


def contender(name: str, us: float, **more) -> Contender:
    return Contender(name=name, mark=BF16, median_us=us, p20_us=0.9 * us, p80_us=1.2 * us, **more)


def drawn_times(*contenders: Contender, is_recorded: bool = False):
    return timings(contenders, Figure(), 200, INKS["light"], is_recorded=is_recorded)


def test_a_bar_is_the_matmul_and_then_the_quantization():
    spec = drawn_times(
        contender("this kernel", 100.0, quantize_us=50.0, is_ours=True), contender("peer", 200.0)
    )
    bars = [(b["who"], b["what"], b["kind"], b["start"], b["end"]) for b in rows(spec, "bars")]
    assert bars == [
        ("this kernel", MATMUL, OURS, 0.0, 100.0),
        ("this kernel", QUANTIZE, QUANTIZE, 100.0, 150.0),
        ("peer", MATMUL, PEER, 0.0, 200.0),
    ]
    ends = rows(spec, "ends")
    assert [(one["p20"], one["p80"]) for one in ends] == [(90.0, 120.0), (180.0, 240.0)]
    assert [(one["matmul"], one["quantize"]) for one in ends] == [
        ("100 µs", "+ 50 µs to quantize"),
        ("200 µs", ""),
    ]


def test_what_is_recorded_is_outlined():
    for is_recorded in (True, False):
        bar = drawn_times(contender("one", 1.0), is_recorded=is_recorded)["layer"][0]["encoding"]
        assert ("stroke" in bar) is is_recorded
        assert ("color" in bar) is not is_recorded


@pytest.mark.parametrize(("us", "unit"), [(9_000.0, "µs"), (12_000.0, "ms")])
def test_long_times_are_in_milliseconds(us, unit):
    spec = drawn_times(contender("one", us))
    (end,) = dataset(spec, "bars")["end"]
    assert end == (us if unit == "µs" else us / 1000)
    assert rows(spec, "ends")[0]["matmul"].endswith(unit)


def test_a_click_names_an_element_of_its_patch_and_a_ring_its_own():
    spec = drawn_map([[1, 2, 3], [4, 5, 6]], (5, 7), [(2, 5, 2.0, 1.5)])
    for patch in rows(spec, "patches"):
        assert patch["m0"] <= patch["row"] < patch["m1"]
        assert patch["n0"] <= patch["column"] < patch["n1"]
    (ring,) = rows(spec, "worst")
    assert (ring["row"], ring["column"]) == (2, 5)


def test_the_sum_of_an_element_goes_from_nothing_to_both_results():
    sums = element_sum("mxfp8", "fprop", (8, 8, 640), "gaussian", 0, (3, 7))
    spec = error_map(
        [[1.0]], (8, 8), [], FIGURES, 300, INKS["light"], m="m", n="n", curve=sampled(sums, (3, 7), "none")
    )
    first, *_, last = rows(spec, "sum")
    assert (first["k"], first["exact"], first["rounded"]) == (0, 0, 0)
    assert (last["k"], last["exact"], last["rounded"]) == (640, sums.exact[-1], sums.rounded[-1])
    words = {row["what"]: row["text"] for row in rows(spec, "words")}
    assert f"exact {sums.exact[-1]:.3g}".replace("-", "−") in words["reference"]


def test_an_element_is_read_with_a_point_or_a_comma():
    assert [read_element(text, job(Act.FINE)) for text in ("3.7", " 3,7", "")] == [(3, 7), (3, 7), None]


def test_a_map_of_more_numbers_than_are_drawn_says_so_and_is_not_clickable():
    longest = replace(job(Act.FINE), m=4096, n=4096, k=MOST // 8192)
    assert too_large(longest) == ""
    refusal = too_large(replace(longest, k=longest.k + 1))
    assert refusal.endswith(f"{MOST / 1e6:.0f} are drawn.")
    spec = error_map([[1.0]], (8, 8), [], FIGURES, 300, INKS["light"], m="m", n="n", refusal=refusal)
    assert refusal in {row["text"] for row in rows(spec, "words")}
    assert {"name": "clicks", "value": 0} in spec["params"]


def test_the_kernels_own_value_is_told_where_it_was_kept():
    one = changed(row(job(Act.FINE)), worst=(Worst(m=3, n=7, truth=2.0, result=1.5),))
    assert gpu_words((3, 7), one) == "The kernel's own value: 1.5"
    assert "not kept" in gpu_words((3, 8), one)
