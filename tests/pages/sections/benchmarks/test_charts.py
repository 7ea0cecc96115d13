"""Contract: a benchmark's mark lies where its figures say, and says on hover where they are from."""

import json
import re
from dataclasses import replace

import pytest

from pages.kit.charts.ink import INKS
from pages.kit.charts.timings import MATMUL, QUANTIZE
from pages.sections.benchmarks.charts.cost import Cost, cost_chart
from pages.sections.benchmarks.charts.facts import TimedGemm
from pages.sections.benchmarks.charts.ratios import Bar, Group, ratios_chart
from pages.sections.benchmarks.charts.roofline import Point, Roof, roofline
from tests.pages.specs import rows

INK = INKS["light"]
FACTS = TimedGemm(
    gemm="Per row, Fprop",
    shape="8³",
    time="1 µs",
    speed="2 TFLOP/s",
    against="1.00× bf16",
    kernel="fp8",
    state="hot L2, 1350 MHz, 690 W",
    where="Recorded on NVIDIA H200, 2026-11-20",
)


def marks(spec, kind) -> list[dict]:
    """The layers with this mark."""
    return [layer for layer in spec["layer"] if layer["mark"]["type"] == kind]


def labels(spec) -> list[tuple[dict, list[dict]]]:
    """The texts that stand on the roofs' flat lines: each layer's mark, and what its filter leaves."""
    found = []
    for layer in marks(spec, "text"):
        if layer["data"].get("name") == "labels":
            (where,) = layer["transform"]
            asked = re.search(r"below === (true|false).*aside === (\d)", where["filter"])
            below, aside = asked[1] == "true", int(asked[2])
            shown = [row for row in rows(spec, "labels") if (row["below"], row["aside"]) == (below, aside)]
            found.append((layer["mark"], shown))
    return found


def bar(name="4096³", ratio=0.8, *, is_here=False) -> Bar:
    return Bar(name=name, is_here=is_here, ratio=ratio, low=0.9 * ratio, high=1.1 * ratio, facts=FACTS)


def group(*bars, title="Per row", peer="torch") -> Group:
    return Group(title=title, peer=peer, mean=0.8, averaged=len(bars), bars=bars)


@pytest.fixture
def ratios():
    groups = [
        group(bar("4096³", 0.8), bar("8192³", 1.5, is_here=True)),
        group(bar("4096³", 0.5), title="MXFP8 ÷ bf16", peer="bf16"),
    ]
    return ratios_chart(groups, ["torch", "bf16"], INK)


def test_each_group_s_bars_stand_under_its_title_in_order(ratios):
    lines = marks(ratios, "bar")[0]["encoding"]["y"]["scale"]["domain"]
    expected = ["Per row", "4096³", "8192³", "MXFP8 ÷ bf16", "4096³"]
    assert [line.split("|")[2] for line in lines] == expected
    assert len(set(lines)) == len(expected)
    assert {row["line"] for name in ("bars", "heads") for row in rows(ratios, name)} == set(lines)


def test_a_bar_and_its_whisker_are_as_long_as_its_figures(ratios):
    drawn = rows(ratios, "bars")
    assert [row["ratio"] for row in drawn] == [0.8, 1.5, 0.5]
    whisker = next(layer for layer in marks(ratios, "rule") if "x2" in layer["encoding"])
    assert (whisker["encoding"]["x"]["field"], whisker["encoding"]["x2"]["field"]) == ("low", "high")
    assert [(row["low"], row["high"]) for row in drawn] == [
        (pytest.approx(0.9 * x), pytest.approx(1.1 * x)) for x in (0.8, 1.5, 0.5)
    ]


def test_the_axis_starts_at_zero_and_holds_the_rule_at_one_and_the_longest_whisker(ratios):
    low, high = marks(ratios, "bar")[0]["encoding"]["x"]["scale"]["domain"]
    assert low == 0
    assert high > 1.65
    assert any(rule["encoding"]["x"].get("datum") == 1.0 for rule in marks(ratios, "rule"))
    slow = ratios_chart([group(bar(ratio=0.1))], ["torch"], INK)
    assert marks(slow, "bar")[0]["encoding"]["x"]["scale"]["domain"][1] > 1


def test_the_legend_has_the_peers_that_are_compared_with_in_their_own_colors(ratios):
    for spec, compared in (
        (ratios, ["torch", "bf16"]),
        (ratios_chart([group(bar(), peer="bf16")], ["torch", "bf16"], INK), ["bf16"]),
    ):
        color = marks(spec, "bar")[0]["encoding"]["color"]
        assert color["legend"]["values"] == compared
        assert color["scale"]["domain"] == ["torch", "bf16"]


def test_a_bar_measured_here_is_outlined(ratios):
    layer = marks(ratios, "bar")[0]
    assert [row["here"] for row in rows(ratios, "bars")] == [False, True, False]
    assert "datum.here" in json.dumps(layer["encoding"]["stroke"])


def test_a_hover_says_which_gpu_when_and_at_which_clock(ratios):
    layer = marks(ratios, "bar")[0]
    fields = [line["field"] for line in layer["encoding"]["tooltip"]]
    first = rows(ratios, "bars")[0]
    told = {first[line.removesuffix(":N")] for line in fields}
    assert {FACTS.where, FACTS.state, FACTS.against, FACTS.kernel} <= told


def roof(name="fp8 measured", tflop_s=1000.0, memory_gb_s=4000.0, is_measured=True) -> Roof:
    return Roof(
        rate="fp8",
        label=name,
        gpu=name,
        memory_gb_s=memory_gb_s,
        tflop_s=tflop_s,
        is_measured=is_measured,
        told="",
    )


def point(intensity=1000.0, tflop_s=500.0, is_here=False) -> Point:
    return Point(series="Per row", is_here=is_here, intensity=intensity, tflop_s=tflop_s, facts=FACTS)


def lines(spec) -> list[dict]:
    return rows(spec, "roofs")


def test_a_roof_rises_with_memory_and_is_flat_from_its_ridge_on():
    one = roof()
    assert one.ridge == 250
    assert (one.at(25), one.at(250), one.at(9999)) == (100, 1000, 1000)
    slope, flat = lines(roofline([], [one], INK))
    assert (slope["end"], slope["end_speed"]) == (250, 1000)
    assert slope["speed"] == pytest.approx(one.at(slope["intensity"]))
    assert (flat["intensity"], flat["speed"], flat["end_speed"]) == (250, 1000, 1000)


def test_roofs_that_share_a_peak_share_its_line_and_the_earlier_ridge():
    found = lines(roofline([], [roof("H100", memory_gb_s=2000.0), roof("H200")], INK))
    flat = [line for line in found if line["speed"] == line["end_speed"]]
    assert [(line["intensity"], line["label"]) for line in flat] == [
        (250, "fp8, H100 and H200: 1,000 TFLOP/s")
    ]
    assert len(found) == 3


def test_a_point_lies_at_its_figures_though_its_facts_have_a_speed_too():
    spec = roofline([point(1000, 500), point(20, 30, is_here=True)], [roof()], INK)
    drawn = rows(spec, "points")
    assert [(row["intensity"], row["speed"], row["here"]) for row in drawn] == [
        (1000, 500, False),
        (20, 30, True),
    ]


@pytest.mark.parametrize("roofs", [[], [roof()]])
def test_everything_lies_inside_the_axes(roofs):
    points = [point(0.5, 0.01), point(1e6, 9e3)]
    encoding = marks(roofline(points, roofs, INK), "point")[0]["encoding"]
    for field, low, high in (("x", 0.5, 1e6), ("y", 0.01, 9e3)):
        first, last = encoding[field]["scale"]["domain"]
        assert 0 < first <= low
        assert last >= high


def test_every_slope_of_a_roofline_is_named_from_left_to_right():
    slopes = [roof("slow", 900.0, memory_gb_s=4000.0), roof("fast", 1000.0, memory_gb_s=9000.0)]
    texts = marks(roofline([], slopes, INK), "text")
    (mark,) = [text["mark"] for text in texts if "encoding" not in text]
    fits, _, words = mark["text"]["expr"].partition(" ? ")
    names = json.loads(words.partition(" : [")[0])[1:]
    assert [name.split(" GB/s")[0] for name in names] == ["fast: 9,000", "slow: 4,000"]
    assert mark["y"]["expr"] == f"height - 6 - 16 * ({fits} ? 3 : 1)", "in the corner below the peaks"
    assert fits.startswith("height * 0.")
    assert fits.endswith(" > 72"), "three lines, and the label of the lowest peak"


def test_a_label_goes_below_its_line_where_another_line_is_near_above():
    spec = roofline([], [roof("low", 950.0), roof("high", 1000.0), roof("far", 4000.0)], INK)
    sides = {row["label"]: mark["baseline"] for mark, shown in labels(spec) for row in shown}
    assert sides == {"low": "top", "high": "bottom", "far": "bottom"}


def test_a_measured_label_makes_way_for_a_datasheet_s():
    """It goes below its line, and aside where that is taken, too: points lie where it would be then."""

    def place(*found) -> tuple[str, int]:
        texts = labels(roofline([], [roof("measured", 1280.0), *found], INK))
        return next(
            (mark["baseline"], mark["dx"])
            for mark, shown in texts
            for row in shown
            if row["label"] == "measured"
        )

    hopper, near = (roof(f"{peak}", peak, is_measured=False) for peak in (1979.0, 2250.0))
    under = roof("bf16 Hopper", 1100.0, is_measured=False)
    assert place(hopper) == ("bottom", -4)
    assert place(hopper, near) == ("top", -4)
    assert place(hopper, near, under)[1] < -4


def test_no_line_runs_through_the_label_of_a_peak_on_a_flat_chart():
    """A projector's chart is flat: above the line of 989 a label would reach to 1,280."""
    roofs = [roof("measured", 1280.0), roof("bf16 Hopper", 989.0, is_measured=False)]
    sides = {
        row["label"]: mark["baseline"]
        for mark, shown in labels(roofline([point(20, 30)], roofs, INK))
        for row in shown
    }
    assert sides == {"measured": "bottom", "bf16 Hopper": "top"}


def test_no_two_datasheets_labels_have_one_place():
    peaks = {"fp8 C": 2614.0, "bf16 B": 2250.0, "fp8 H": 1979.0, "bf16 C": 1307.0}
    roofs = [roof(name, peak, is_measured=False) for name, peak in peaks.items()]
    texts = labels(roofline([], roofs, INK))
    places = {row["label"]: (mark["baseline"], mark["dx"]) for mark, shown in texts for row in shown}
    assert places.keys() == peaks.keys()
    assert places["bf16 B"][0] == places["fp8 H"][0] == "top"
    assert len({places[name][1] for name in ("bf16 B", "fp8 H", "bf16 C")}) > 1
    assert places["bf16 B"][1] != places["fp8 H"][1] != places["bf16 C"][1]


def test_a_bar_of_cost_is_the_matmul_then_the_quantization():
    costs = [
        Cost(name="bf16", matmul=1.0, quantize=None, facts=None),
        Cost(name="Per row", matmul=0.5, quantize=0.25, facts=FACTS),
    ]
    spec = cost_chart(costs, "bf16", INK)
    bars = [(r["name"], r["part"], r["start"], r["end"]) for r in rows(spec, "bars")]
    assert bars == [
        ("bf16", MATMUL, 0.0, 1.0),
        ("Per row", MATMUL, 0.0, 0.5),
        ("Per row", QUANTIZE, 0.5, 0.75),
    ]
    assert [row["told"] for row in rows(spec, "ends")] == ["1.00", "0.50 → 0.75"]
    assert marks(spec, "bar")[0]["encoding"]["x"]["title"] == "time, bf16 = 1"


def test_the_axes_of_a_cost_hold_every_contender_in_order_and_the_longest_bar():
    costs = [Cost(name=name, matmul=1.0, quantize=2.0, facts=None) for name in ("z", "a")]
    encoding = marks(cost_chart(costs, "bf16", INK), "bar")[0]["encoding"]
    assert encoding["y"]["scale"]["domain"] == ["z", "a"]
    low, high = encoding["x"]["scale"]["domain"]
    assert low == 0
    assert high > 3


def test_every_series_has_its_own_color_and_shape_in_the_legend():
    points = [replace(point(), series=name) for name in ("one", "two", "one")]
    encoding = marks(roofline(points, [roof()], INK), "point")[0]["encoding"]
    for channel in ("color", "shape"):
        scale = encoding[channel]["scale"]
        assert scale["domain"] == ["one", "two"]
        assert len(set(scale["range"])) == 2


@pytest.mark.parametrize("theme", INKS)
def test_every_chart_is_strict_json(theme):
    ink = INKS[theme]
    specs = [
        ratios_chart([group(bar())], ["torch"], ink),
        roofline([point()], [roof()], ink),
        roofline([point()], [], ink),
        cost_chart([Cost(name="bf16", matmul=1.0, quantize=None, facts=None)], "bf16", ink),
    ]
    for spec in specs:
        json.dumps({name: part for name, part in spec.items() if name != "datasets"}, allow_nan=False)
