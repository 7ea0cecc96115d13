"""Figures, facts and Notices of "Outliers" against errors that are counted anew."""

import ml_dtypes
import numpy as np
import pytest

from fp8core.experiments.error_curves import CREST_POWERS, Counted, Draws
from fp8core.experiments.layer_error import ResultError
from fp8core.inputs import OUTLIER_EVERY, InputKind, draw
from fp8core.linear import MATMULS
from pages.kit.charts.ink import LIGHT
from pages.kit.charts.recipe_marks import BF16
from pages.kit.charts.template import Filled
from pages.kit.lesson.facts import fact
from pages.outliers import crest, matmuls
from pages.outliers.charts.map import APART, STOPS, map_chart
from pages.outliers.charts.spread import Spread, spread_chart
from pages.outliers.controls import EVERY, FACTOR
from pages.outliers.data import ErrorMap, bare_crest, error_map, source_of
from pages.outliers.lost import millionths, worst_line
from pages.outliers.map import picture
from pages.outliers.subject import Subject, db, percent
from tests.pages.specs import dataset, rows

SMALL = {"outliers_size": "256x512"}


def test_one_scale_for_a_tensor_loses_as_many_elements_as_a_cast_does():
    x = draw(InputKind.OUTLIER_CHANNELS, (256, 512), 0).astype(ml_dtypes.bfloat16).astype(np.float32)
    codes = (x * (1 / (np.abs(x).max() / np.float32(448)))).astype(ml_dtypes.float8_e4m3fn)
    zeros = ((codes == 0) & (x != 0)).mean()
    assert fact("outliers.zeros_share", SMALL | {"recipes": ["per_tensor"]}) == pytest.approx(zeros, rel=0.05)
    steps = np.rint(x * (127 / np.abs(x).max()))
    assert fact("outliers.int8_zeros_share", SMALL) == pytest.approx((steps == 0).mean(), rel=1e-2)


def test_the_total_gains_where_small_channels_do_not():
    both = SMALL | {"recipes": ["per_tensor", "deepseek_v3"]}
    assert fact("outliers.sqnr_gain_db", both) == -fact("outliers.sqnr_loss_db", both)
    assert fact("outliers.sqnr_gain_db", both) > 8 > 1 > fact("outliers.median_gain_db", both)
    assert fact("outliers.energy_held", both) > 0.9


def test_square_tiles_lie_alike_for_both_readers():
    settings = SMALL | {"readers_format": "e4m3", "readers_scale": "fp32"}
    assert fact("outliers.square_differ", settings) == 0
    assert fact("outliers.bare_differ", settings) > 0.9
    assert fact("outliers.bare_differ", settings | {"readers_scale": "e8m0_round_up"}) < 0.01


def test_two_roundings_of_one_size_add_up_as_the_root_of_two():
    anew = SMALL | {"reading": "made_anew"}
    assert fact("outliers.checkpoint_growth", anew) == pytest.approx(np.sqrt(2), rel=0.05)
    assert fact("outliers.checkpoint_growth", SMALL | {"reading": "as_made"}) == 1


def test_a_recipe_that_leaves_an_operand_in_bf16_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="leaves wgrad_a in bf16"):
        fact("outliers.sqnr_db", SMALL | {"recipes": ["rowwise_hp_wgrad"], "role": "wgrad_a"})


def spread(name: str, worst: float, total: float, outliers: float | None = 0.01) -> Spread:
    return Spread(
        name=name, mark=BF16, least=0.02, low=0.03, median=0.04, high=0.05, worst=worst, total=total,
        outliers=outliers,
    )  # fmt: skip


def test_the_worst_line_is_that_of_which_the_total_says_least():
    two = {"a": spread("A", 0.5, 0.4), "b": spread("B", 0.4, 0.1)}
    assert (
        worst_line(two, "channel")
        == "Under B the error is 10% in all, but **40%** in the worst normal channel."
    )


def test_the_marks_of_the_row_with_most_room_have_names_on_two_levels():
    spec = spread_chart([spread("A", 0.041, 0.3), spread("B", 0.9, 0.2, None)], "channel", 500, LIGHT)
    words = {row["word"]: (row["y"], row["is_lower"]) for row in rows(spec, "words")}
    assert words == {"median": (1, False), "all": (1, True), "worst": (1, False)}
    low, high = spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert low < 0.01 < 0.9 < high


def map_row(name: str, bits: int) -> dict[str, object]:
    return {"name": name, "bits": bits, "zeros": 0.02, "tile": 16}


def test_the_map_groups_its_rows_by_bits_and_brackets_the_outliers_tiles():
    spec = map_chart(
        [map_row("A", 4), map_row("B", 8), map_row("C", 4)], range(8, 168), [1.0] * 160,
        [at == 12 for at in range(160)], "share", "brief", 500, LIGHT,
    )  # fmt: skip
    places = dict(zip(dataset(spec, "rows")["name"], dataset(spec, "rows")["top"], strict=True))
    heads = dict(zip(dataset(spec, "groups")["group"], dataset(spec, "groups")["top"], strict=True))
    assert heads["8 bits"] < places["B"] < heads["4 bits"] < places["A"] < places["C"]
    assert {(row["from"], row["to"]) for row in rows(spec, "tiles")} == {(8, 24)}, "from the map's left"


def frame(factor: int, every: int = OUTLIER_EVERY) -> tuple[ErrorMap, Filled]:
    """Error map of one recipe, and its picture, with the handle from 50 on."""
    source = source_of("outlier_channels", "fprop_a", (256, 512), 0, factor, every)
    subject = Subject(keys=("mxfp4",), role="fprop_a", source=source)
    part = error_map("mxfp4", "fprop_a", source)
    return part, picture(subject, {"mxfp4": part}, 500, LIGHT, has_hand=True)


def kept(spec: Filled) -> dict:
    """All of a picture but its data: where it is the same, the browser keeps the picture."""
    return {name: one for name, one in spec.items() if name != "datasets"}


def test_the_ruler_is_as_long_as_outliers_are_apart_and_changes_the_data_alone():
    (_, before), (part, after) = frame(50), frame(50, 32)
    (now,) = [row for row in rows(after, APART) if row["now"]]
    at = np.flatnonzero(part.outliers)
    assert set(np.diff(at)) == {32} == {now["at"]}
    assert [row["at"] for row in rows(after, APART)] == list(EVERY.options)
    assert kept(before) == kept(after)


def test_the_handle_changes_the_data_of_the_maps_and_nothing_else():
    part, at_fifty = frame(50)
    tall = {row["factor"]: row for row in rows(at_fifty, STOPS)}
    channel = round(tall[50]["at"] - 0.5)
    assert part.outliers[channel]
    assert list(tall) == list(FACTOR.options)
    for factor in (1, 5, 500):
        other, picture_there = frame(factor)
        assert kept(at_fifty) == kept(picture_there)
        assert (other.rows, other.columns) == (part.rows, part.columns)
        largest = other.largest[channel]
        assert tall[factor]["size"] * factor == pytest.approx(largest, rel=2**-7), "rounded to bf16"
        assert tall[factor]["least"] < largest <= tall[factor]["most"] * (1 + 2**-7)


def curve(*values: float) -> tuple[Draws, ...]:
    return tuple(Draws(at=2.0**i, sqnr_db=(value,), bits=8.0) for i, value in enumerate(values))


def test_the_crossing_lies_between_the_last_loss_and_the_gain_after_it():
    assert crest.crossing(curve(3, 3, 3), curve(1, 2, 5)) == pytest.approx(2 ** (1 + 1 / 3))
    assert crest.crossing(curve(3, 3, 3), curve(4, 2, 3)) is None, "floats never win for good"
    assert crest.crossing(curve(1, 1), curve(2, 2)) is None, "floats always win"


def test_integers_win_on_flat_numbers_and_floats_on_heavy_tails():
    integer, floating = (bare_crest(name, 0, Counted.ALL) for name in ("mxint8", "e4m3"))
    assert integer[0].mean > floating[0].mean
    assert floating[-1].mean > integer[-1].mean
    assert crest.winner(integer, floating).startswith("On Gaussian numbers int8 is **")
    gaussian = integer[CREST_POWERS.index(1.0)].at
    assert gaussian < crest.crossing(integer, floating) < integer[-1].at


def errors(rel_err: float) -> dict[str, ResultError]:
    return {name: ResultError(rel_err=rel_err, off_cosine=0.0) for name in MATMULS}


def test_a_matmul_that_stays_bf16_is_drawn_so_and_is_not_compared():
    parts = {"rowwise_hp_wgrad": errors(0.0) | {"fprop": errors(0.04)["fprop"]}, "mxfp8": errors(0.03)}
    results = {key: matmuls.results_of(key, part) for key, part in parts.items()}
    assert (
        matmuls.notice(results)
        == "y has **an error of 4%** under rowwise_hp_wgrad. The least is 3%, under mxfp8."
    )
    bars = {(bar.group, bar.series): bar.words for bar in matmuls.bars(results, dict.fromkeys(results, ""))}
    assert bars["dw, Wgrad", "rowwise_hp_wgrad"] == "stays bf16 rowwise_hp_wgrad"
    assert bars["dw, Wgrad", "mxfp8"] == "3% mxfp8"
    assert matmuls.notice({"Plain": dict.fromkeys(MATMULS)}) == "**0 matmuls** are quantized here."


def test_figures_in_words():
    assert [percent(x) for x in (0, 0.0264, 0.9917, 1, 1e-7, 2.5)] == [
        "0%", "2.6%", "99.17%", "100%", "< 0.001%", "250%",
    ]  # fmt: skip
    assert [db(x) for x in (31.54, float("inf"))] == ["31.5\xa0dB", "no error"]
    assert [millionths(x) for x in (1.2345678e-2, -3e-7, -1e-9)] == ["12,345.7", "−0.3", "0.0"]
