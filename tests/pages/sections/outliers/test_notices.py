"""What the sections of the page "Outliers" tell the reader to notice is true of the numbers."""

import pytest

from fp8core.experiments.error_curves import Counted, Draws
from fp8core.experiments.layer_error import ResultError
from fp8core.experiments.two_readers import Disagreement
from fp8core.inputs import InputKind
from fp8core.linear import MATMULS, LayerTensor
from pages.sections.outliers import lines, map, matmuls, readers, tiles
from pages.sections.outliers.chosen import Asked
from pages.sections.outliers.measures import BARE_TILES, TileSizes, measured
from pages.sections.outliers.source import Source


def asked_of(kind: InputKind) -> Asked:
    source = Source(kind=kind.value, shape=(512, 1024), seed=0, tensor=LayerTensor.X)
    return Asked(keys=("mxfp8", "nvfp4"), role="fprop_a", source=source)


def channels_notice(kind: InputKind) -> str:
    asked = asked_of(kind)
    parts = {key: measured(key, asked.role, asked.source) for key in asked.keys}
    channels = {key: part.error.channels for key, part in parts.items()}
    spreads = {key: lines.spread(asked.titles[key], part, channels[key]) for key, part in parts.items()}
    return lines.notice(asked, channels, spreads, "channel")


@pytest.mark.parametrize(
    ("kind", "is_theirs"), [(InputKind.OUTLIER_CHANNELS, True), (InputKind.REAL_DOWN_EARLY, False)]
)
def test_the_total_belongs_to_the_outliers_only_where_they_hold_nearly_all_of_the_energy(kind, is_theirs):
    told = channels_notice(kind)
    assert "channels of 1,024 hold" in told
    assert ("almost theirs alone" in told) == is_theirs


def test_the_recipes_name_stands_before_what_it_is_best_in():
    asked = asked_of(InputKind.OUTLIER_CHANNELS)
    parts = {key: measured(key, asked.role, asked.source) for key in asked.keys}
    assert "**MXFP8** has the best total: 3" in map.notice(asked, parts)
    assert "**MXFP8** has the least error in its worst channel: 3" in channels_notice(
        InputKind.OUTLIER_CHANNELS
    )


def readers_notice(differ: int, zero_in_one: int) -> str:
    """The notice where the long tiles differ so, and the square ones do not."""
    found = {
        str(tile): Disagreement(
            elements=1000,
            differ=differ if tile.mn == 1 else 0,
            zero_in_one=zero_in_one if tile.mn == 1 else 0,
            rel_err=0.0,
        )
        for tile in BARE_TILES
    }
    return readers.notice(found, "e4m3")


def test_counts_of_two_readers_agree_with_their_verbs():
    assert "1 element is zero for one reader only" in readers_notice(15, 1)
    told = readers_notice(15, 2)
    assert "2 elements are zero for one reader only" in told
    assert told.endswith("In the square tiles of e4m3, none differ.")


def test_two_readers_that_agree_are_said_to_agree():
    assert readers_notice(0, 0) == "in e4m3, Dgrad and Fprop read equal numbers, whatever the tile."


@pytest.mark.parametrize(("gain_db", "is_unchanged"), [(0.0, True), (4.4, False)])
def test_a_relative_error_is_said_to_keep_only_where_it_does(gain_db, is_unchanged):
    def sizes(gain: float) -> TileSizes:
        short, long = (Draws(at=at, sqnr_db=(20 + db,), bits=8.0) for at, db in ((8, gain), (512, 0.0)))
        return TileSizes(curve=(short, long), own=long)

    told = tiles.notice({"steep": sizes(11.3), "flat": sizes(gain_db)}, Counted.SMALLER_HALF)
    assert ("does not depend on its scale" in told) == is_unchanged


def errors(rel_err: float) -> dict[str, ResultError]:
    return {name: ResultError(rel_err=rel_err, off_cosine=0.0) for name in MATMULS}


def test_a_matmul_that_stays_bf16_is_said_to_and_is_not_compared():
    asked = {"rowwise_hp_wgrad": errors(0.0) | {"fprop": errors(0.04)["fprop"]}, "mxfp8": errors(0.03)}
    found = {key: matmuls.quantized(key, part) for key, part in asked.items()}
    told = matmuls.notice(found)
    assert told.startswith(
        "the least errors are y 3% (**mxfp8**), dx 0% (**rowwise_hp_wgrad**), dw 3% (**mxfp8**)"
    )
    assert told.endswith("**rowwise_hp_wgrad** does not quantize Wgrad: dw stays bf16.")
    drawn = {(bar.group, bar.series): bar.told for bar in matmuls.bars(found)}
    assert drawn["dw, Wgrad", "rowwise_hp_wgrad"] == "stays bf16"
    assert drawn["dw, Wgrad", "mxfp8"] == "3%"


def test_results_of_which_none_is_quantized_have_no_least_error():
    told = matmuls.notice({"Plain": dict.fromkeys(MATMULS)})
    assert told.startswith("no result has an error of quantizing.")
    assert told.count("does not quantize") == len(MATMULS)
