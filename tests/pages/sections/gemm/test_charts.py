"""The charts of a measured GEMM: every element of D in one patch, every bar as long as its time."""

import math

import pytest

from pages.kit.charts.timings import MATMUL, QUANTIZE, Contender, timings
from pages.sections.gemm.charts.error_map import LEGEND, cut, error_map
from tests.pages.specs import dataset, rows

BANDS_MOST = 32


def test_patches_are_the_bands_that_were_measured():
    for size in range(1, 3000):
        tall = max(1, -(-size // BANDS_MOST))
        tops = range(0, size, tall)
        assert [(band.start, band.stop) for band in cut(size, len(tops))] == [
            (top, min(top + tall, size)) for top in tops
        ]


def test_the_legend_has_its_lines():
    spec = error_map([[1.0]], (8, 8), [], m="m", n="n")
    assert spec["layer"][0]["encoding"]["color"]["title"] == list(LEGEND)


def test_every_element_is_in_one_patch_with_its_error():
    spec = error_map([[1, 2, 3], [4, 5, 6]], (5, 7), [], m="m", n="n")
    patches = rows(spec, "patches")
    covered = [(i, j) for p in patches for i in range(p["m0"], p["m1"]) for j in range(p["n0"], p["n1"])]
    assert sorted(covered) == [(i, j) for i in range(5) for j in range(7)]
    assert [patch["error"] for patch in patches] == [1, 2, 3, 4, 5, 6]
    assert [(p["rows"], p["columns"]) for p in patches[2:4]] == [("0…2", "6"), ("3…4", "0…2")]


def test_the_axes_hold_all_of_d_and_the_colors_all_errors():
    heat = error_map([[1, 7], [4, math.nan]], (5, 7), [], m="rows", n="columns")["layer"][0]["encoding"]
    assert (heat["x"]["scale"]["domain"], heat["x"]["title"]) == ([0, 7], "columns")
    assert (heat["y"]["scale"]["domain"], heat["y"]["title"]) == ([0, 5], "rows")
    assert heat["color"]["scale"]["domain"] == [1, 7]


def test_the_worst_elements_are_ringed_where_they_are():
    (ring,) = rows(error_map([[1.0]], (8, 8), [(2, 5, 1.0, 1.5)], m="m", n="n"), "worst")
    assert (ring["m"], ring["n"], ring["place"]) == (2.5, 5.5, "D[2, 5]")


def test_an_error_that_is_no_number_is_left_out_of_the_picture():
    spec = error_map([[math.nan, math.inf]], (2, 2), [(0, 0, 1.0, math.nan)], m="m", n="n")
    assert dataset(spec, "patches")["error"] == [None, None]
    assert dataset(spec, "worst")["result"] == [None]
    low, high = spec["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert low < high


def test_a_bar_is_the_matmul_and_then_the_quantization():
    kernel = Contender(name="this kernel", median_us=100.0, p20_us=90.0, p80_us=120.0, quantize_us=50.0)
    peer = Contender(name="peer", median_us=200.0, p20_us=190.0, p80_us=220.0)
    spec = timings([kernel, peer])
    bars = [(b["who"], b["what"], b["start"], b["end"]) for b in rows(spec, "bars")]
    assert bars == [
        ("this kernel", MATMUL, 0.0, 100.0),
        ("this kernel", QUANTIZE, 100.0, 150.0),
        ("peer", MATMUL, 0.0, 200.0),
    ]
    assert [(w["p20"], w["p80"]) for w in rows(spec, "whiskers")] == [(90.0, 120.0), (190.0, 220.0)]


def test_the_axes_of_times_hold_every_contender_in_order_and_the_longest_mark():
    kernel = Contender(name="z", median_us=100.0, p20_us=90.0, p80_us=120.0, quantize_us=50.0)
    peer = Contender(name="a", median_us=200.0, p20_us=190.0, p80_us=220.0)
    for contenders, longest in (([kernel, peer], 220.0), ([kernel], 150.0)):
        bars = timings(contenders)["layer"][0]["encoding"]
        assert bars["y"]["scale"]["domain"] == [c.name for c in contenders]
        assert bars["x"]["scale"]["domain"] == [0, longest]


@pytest.mark.parametrize(("us", "unit"), [(9_000.0, "µs"), (12_000.0, "ms")])
def test_long_times_are_in_milliseconds(us, unit):
    spec = timings([Contender(name="one", median_us=us, p20_us=us, p80_us=us)])
    assert spec["layer"][0]["encoding"]["x"]["title"] == f"time ({unit})"
    (end,) = dataset(spec, "bars")["end"]
    assert end == (us if unit == "µs" else us / 1000)
