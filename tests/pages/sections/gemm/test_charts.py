"""The charts of a measured GEMM: every element of D in one patch, every bar as long as its time."""

import json
import math

import pytest

from pages.kit.charts.timings import MATMUL, QUANTIZE, Contender, timings
from pages.sections.gemm.charts.error_map import cut, error_map

BANDS_MOST = 32


def values(layer) -> list[dict]:
    return layer["data"]["values"]


def test_patches_are_the_bands_that_were_measured():
    for size in range(1, 3000):
        tall = max(1, -(-size // BANDS_MOST))
        tops = range(0, size, tall)
        assert [(band.start, band.stop) for band in cut(size, len(tops))] == [
            (top, min(top + tall, size)) for top in tops
        ]


def test_the_legend_has_its_lines():
    spec = error_map([[1.0]], (8, 8), [], m="m", n="n", legend=["largest error", "÷ rms"]).to_dict()
    assert spec["layer"][0]["encoding"]["color"]["title"] == ["largest error", "÷ rms"]


def test_every_element_is_in_one_patch_with_its_error():
    spec = error_map([[1, 2, 3], [4, 5, 6]], (5, 7), [], m="m", n="n", legend=["error"]).to_dict()
    patches = values(spec["layer"][0])
    covered = [(i, j) for p in patches for i in range(p["m0"], p["m1"]) for j in range(p["n0"], p["n1"])]
    assert sorted(covered) == [(i, j) for i in range(5) for j in range(7)]
    assert [patch["error"] for patch in patches] == [1, 2, 3, 4, 5, 6]


def test_the_worst_elements_are_ringed_where_they_are():
    spec = error_map([[1.0]], (8, 8), [(2, 5, 1.0, 1.5)], m="m", n="n", legend=["error"]).to_dict()
    ring = values(spec["layer"][1])[0]
    assert (ring["m"], ring["n"], ring["place"]) == (2.5, 5.5, "D[2, 5]")


def test_an_error_that_is_no_number_is_left_out_of_the_spec():
    chart = error_map([[math.nan, math.inf]], (2, 2), [(0, 0, 1.0, math.nan)], m="m", n="n", legend=["error"])
    json.dumps(chart.to_dict(), allow_nan=False)


def test_a_bar_is_the_matmul_and_then_the_quantization():
    kernel = Contender(name="this kernel", median_us=100.0, p20_us=90.0, p80_us=120.0, quantize_us=50.0)
    peer = Contender(name="peer", median_us=200.0, p20_us=190.0, p80_us=220.0)
    spec = timings([kernel, peer]).to_dict()
    bars = [(b["who"], b["what"], b["start"], b["end"]) for b in values(spec["layer"][0])]
    assert bars == [
        ("this kernel", MATMUL, 0.0, 100.0),
        ("this kernel", QUANTIZE, 100.0, 150.0),
        ("peer", MATMUL, 0.0, 200.0),
    ]
    assert [(w["p20"], w["p80"]) for w in values(spec["layer"][1])] == [(90.0, 120.0), (190.0, 220.0)]


@pytest.mark.parametrize(("us", "unit"), [(9_000.0, "µs"), (12_000.0, "ms")])
def test_long_times_are_in_milliseconds(us, unit):
    spec = timings([Contender(name="one", median_us=us, p20_us=us, p80_us=us)]).to_dict()
    assert spec["layer"][0]["encoding"]["x"]["title"] == f"time ({unit})"
    end = values(spec["layer"][0])[0]["end"]
    assert end == (us if unit == "µs" else us / 1000)
