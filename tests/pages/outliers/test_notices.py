"""What the sections of the page "Outliers" tell the reader to notice is true of the numbers."""

from fp8core.experiments.layer_error import ResultError
from fp8core.experiments.two_readers import Disagreement
from fp8core.inputs import InputKind
from fp8core.linear import MATMULS, LayerTensor
from pages.kit.charts.recipe_marks import mark_of
from pages.outliers import lines, matmuls, readers
from pages.outliers.chosen import Asked
from pages.outliers.measures import BARE_TILES, measured
from pages.outliers.source import Source


def asked_of(kind: InputKind) -> Asked:
    source = Source(kind=kind.value, shape=(512, 1024), seed=0, tensor=LayerTensor.X)
    return Asked(keys=("mxfp8", "nvfp4"), role="fprop_a", source=source)


def test_the_worst_channel_is_set_against_the_total():
    asked = asked_of(InputKind.OUTLIER_CHANNELS)
    parts = {key: measured(key, asked.role, asked.source) for key in asked.keys}
    spreads = {
        key: lines.spread(asked.titles[key], mark_of(key), part, part.error.channels)
        for key, part in parts.items()
    }
    told = lines.notice(spreads, "channel")
    assert told.startswith("Under NVFP4 the worst normal channel is **off by 8")
    assert "The error of the whole tensor is 6.3%." in told


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


def test_two_readers_are_compared_in_long_and_in_square_tiles():
    told = readers_notice(15, 2)
    assert "**1.5% of a weight's elements** differ" in told
    assert told.endswith("In square tiles, none do.")
    assert "**0 elements** differ" in readers_notice(0, 0)


def errors(rel_err: float) -> dict[str, ResultError]:
    return {name: ResultError(rel_err=rel_err, off_cosine=0.0) for name in MATMULS}


def test_a_matmul_that_stays_bf16_is_drawn_so_and_is_not_compared():
    asked = {"rowwise_hp_wgrad": errors(0.0) | {"fprop": errors(0.04)["fprop"]}, "mxfp8": errors(0.03)}
    found = {key: matmuls.quantized(key, part) for key, part in asked.items()}
    told = matmuls.notice(found)
    assert told == "y has **an error of 4%** under rowwise_hp_wgrad. The least is 3%, under mxfp8."
    drawn = {
        (bar.group, bar.series): bar.words for bar in matmuls.bars(found, dict.fromkeys(found, "#000000"))
    }
    assert drawn["dw, Wgrad", "rowwise_hp_wgrad"] == "stays bf16 rowwise_hp_wgrad"
    assert drawn["dw, Wgrad", "mxfp8"] == "3% mxfp8"


def test_results_of_which_none_is_quantized_have_no_error():
    assert matmuls.notice({"Plain": dict.fromkeys(MATMULS)}) == "**0 matmuls** are quantized here."
