"""Contract: a benchmark's mark lies where its figures say, and says on hover where they are from."""

from dataclasses import replace

import pytest

from pages.benchmarks.charts import rows as charts
from pages.benchmarks.charts.points import TITLES, Point, Roof, roofline
from pages.kit.charts.ink import INKS
from pages.kit.charts.recipe_marks import mark_of
from tests.pages.specs import rows

INK = INKS["light"]
WORDS = {title: f"the {title}" for title in TITLES}


def marks(spec, kind) -> list[dict]:
    """The layers with this mark."""
    return [layer for layer in spec["layer"] if layer["mark"]["type"] == kind]


def labels(spec) -> dict[str, str]:
    """The labels on the roofs' flat lines: the baseline of each by its words."""
    sides = {"below === true": True, "below === false": False}
    baselines = {}
    for layer in marks(spec, "text"):
        if layer["data"].get("name") == "labels":
            where, _ = layer["transform"]
            is_below = next(side for words, side in sides.items() if words in where["filter"])
            names = [row["label"] for row in rows(spec, "labels") if row["below"] is is_below]
            baselines |= dict.fromkeys(names, layer["mark"]["baseline"])
    return baselines


def dot(name="4096³", ratio=0.8, *, is_here=False) -> charts.Row:
    whisker = {"low": 0.9 * ratio, "high": 1.1 * ratio}
    return {"name": name, "here": is_here, "ratio": ratio, **whisker, "bf16": 2.0, "words": WORDS}


def group(*dots, title="Per row", mean: float | None = 0.8, others=()) -> charts.Group:
    return charts.Group(title=title, recipe="rowwise", mean=mean, mean_bf16=2.0, dots=dots, others=others)


ROOM = 590


@pytest.fixture
def ratios():
    deep = {"line": 1, "name": "DeepGEMM", "ratio": 1.9, "source": "a GPU"}
    groups = [
        group(dot("4096³", 0.8), dot("8192³", 1.5, is_here=True), others=(deep,)),
        group(dot("4096³", 0.5), title="MXFP8", mean=None),
    ]
    return charts.ratios_chart(groups, ROOM, INK)


def flat(spec) -> list[dict]:
    """The layers of all parts."""
    return [layer for part in spec["layer"] for layer in part["layer"]]


def test_a_point_and_its_whisker_are_where_its_figures_are_and_a_library_is_in_its_line(ratios):
    points = rows(ratios, "points")
    assert [(row["ratio"], row["low"], row["high"]) for row in points] == [
        (x, pytest.approx(0.9 * x), pytest.approx(1.1 * x)) for x in (0.8, 1.5)
    ]
    (other,) = rows(ratios, "others")
    assert (other["y"], other["ratio"]) == (points[1]["y"], 1.9)
    assert points[1]["y"] - points[0]["y"] == 1


def test_a_group_without_an_op_of_torch_s_says_so_and_stands_beside_bf16_only(ratios):
    heads = [(row["none"], row["figure"], row["figure_bf16"]) for row in rows(ratios, "heads")]
    assert heads == [("", "0.80", "2.00"), (charts.NO_OP, "", "2.00")]
    assert len(rows(ratios, "bf16")) == 3


def test_the_axis_lies_around_one_and_holds_all_points(ratios):
    (points,) = [layer for layer in flat(ratios) if (layer["encoding"].get("size") or {}).get("condition")]
    low, high = points["encoding"]["x"]["scale"]["domain"]
    assert 0 < low < 0.72
    assert high > 1.9


def test_with_little_room_the_points_of_a_group_share_a_line(ratios):
    groups = [group(*(dot(f"{side}³") for side in range(1, 9))) for _ in range(8)]
    assert len({row["y"] for row in rows(charts.ratios_chart(groups, 3 * ROOM, INK), "points")}) == 64
    assert len({row["y"] for row in rows(charts.ratios_chart(groups, 370, INK), "points")}) == 8


def test_a_hover_says_which_gpu_when_and_at_which_clock(ratios):
    (layer,) = [layer for layer in flat(ratios) if (layer["encoding"].get("size") or {}).get("condition")]
    fields = [line["field"] for line in layer["encoding"]["tooltip"]]
    first = rows(ratios, "points")[0]
    words = {first[line.removesuffix(":N")] for line in fields}
    assert set(WORDS.values()) <= words


def roof(name="fp8 measured", tflop_s=1000.0, memory_gb_s=4000.0, is_measured=True) -> Roof:
    bounds = {"memory_gb_s": memory_gb_s, "tflop_s": tflop_s}
    return Roof(label=name, gpu=name, **bounds, is_measured=is_measured, source="")


def point(intensity=1000.0, tflop_s=500.0, is_here=False) -> Point:
    return Point(
        series="Per row", recipe="rowwise", is_here=is_here, intensity=intensity, speed=tflop_s, words=WORDS
    )


def chart_of(points, roofs):
    return roofline(points, roofs, ROOM, INK, is_aside=False)


def lines(spec) -> list[dict]:
    return rows(spec, "roofs")


def test_a_roof_rises_with_memory_and_is_flat_from_its_ridge_on():
    one = roof()
    assert one.ridge == 250
    assert (one.at(25), one.at(250), one.at(9999)) == (100, 1000, 1000)
    slope, flat = lines(chart_of([], [one]))
    assert (slope["end"], slope["end_speed"]) == (250, 1000)
    assert slope["speed"] == pytest.approx(one.at(slope["intensity"]))
    assert (flat["intensity"], flat["speed"], flat["end_speed"]) == (250, 1000, 1000)


def test_peaks_of_one_memory_share_its_slope_up_to_the_highest():
    roofs = lines(chart_of([], [roof("fp8", 1000.0), roof("bf16", 500.0)]))
    assert [(line["intensity"], line["end"], line["end_speed"]) for line in roofs] == [
        (16, 250, 1000),
        (250, 32768, 1000),
        (125, 32768, 500),
    ]


@pytest.mark.parametrize("roofs", [[], [roof()]])
def test_everything_lies_inside_the_axes(roofs):
    points = [point(0.5, 0.01), point(1e6, 9e3)]
    encoding = marks(chart_of(points, roofs), "point")[0]["encoding"]
    for field, low, high in (("x", 0.5, 1e6), ("y", 0.01, 9e3)):
        first, last = encoding[field]["scale"]["domain"]
        assert 0 < first <= low
        assert last >= high


def test_every_slope_of_a_roofline_is_named_from_left_to_right():
    slopes = [
        roof("slow", 900.0, memory_gb_s=4000.0),
        roof("fast", 1000.0, memory_gb_s=9000.0, is_measured=False),
    ]
    (names,) = rows(chart_of([], slopes), "names")
    assert names["text"].split("\n")[1:] == [
        "fast: 9,000 GB/s, datasheet, dashed",
        "slow: 4,000 GB/s, measured, solid",
    ]


@pytest.mark.parametrize(
    ("peaks", "sides"),
    [
        ({"low": 950.0, "high": 1000.0, "far": 4000.0}, {"low": "top", "high": "bottom", "far": "bottom"}),
        ({"far": 1280.0, "sheet": 1979.0}, {"far": "bottom", "sheet": "bottom"}),
        (
            {"measured": 700.0, "over": 1280.0, "sheet": 989.0},
            {"measured": "top", "over": "bottom", "sheet": "top"},
        ),
    ],
)
def test_a_label_goes_below_its_line_where_a_line_or_a_datasheet_s_label_is_near_above(peaks, sides):
    roofs = [roof(name, peak, is_measured=name != "sheet") for name, peak in peaks.items()]
    assert labels(chart_of([point(20, 30)], roofs)) == sides


def test_a_bar_of_cost_is_the_matmul_then_the_quantization():
    costs = [
        charts.Cost(name="bf16", recipe=None, matmul=1.0, quantize=None, words=None),
        charts.Cost(name="Per row", recipe="rowwise", matmul=0.5, quantize=0.25, words=WORDS),
    ]
    spec = charts.cost_chart(costs, ROOM, INK)
    bars = [(r["name"], r["part"], r["start"], r["end"]) for r in rows(spec, "bars")]
    assert bars == [
        ("bf16", charts.MATMUL, 0.0, 1.0),
        ("Per row", charts.MATMUL, 0.0, 0.5),
        ("Per row", charts.QUANTIZE, 0.5, 0.75),
    ]
    assert [(row["matmul"], row["quantize"]) for row in rows(spec, "ends")] == [
        ("1.00", ""),
        ("0.50", "+ 0.25"),
    ]
    assert marks(spec, "bar")[0]["encoding"]["x"]["title"] == "time, bf16 = 1"


def test_every_series_has_its_recipe_s_color_and_shape_in_the_legend():
    recipes = {"one": "rowwise", "two": "mxfp8"}
    points = [replace(point(), series=name, recipe=recipes[name]) for name in ("one", "two", "one")]
    encoding = marks(chart_of(points, [roof()]), "point")[0]["encoding"]
    for channel in ("color", "shape"):
        scale = encoding[channel]["scale"]
        assert scale["domain"] == ["one", "two"]
        assert scale["range"] == [getattr(mark_of(recipe), channel) for recipe in recipes.values()]
