"""Facts of the page "Does the loss notice?" against runs whose losses follow a law."""

import pytest

from fp8core.experiments.run_spread import runs_needed, spread_percent
from fp8core.recipes import RECIPES
from kernels.train.job import TrainJob
from kernels.train.variants import VARIANTS
from pages.kit.lesson.facts import facts_of
from pages.loss.facts import FACTS
from tests.pages.loss.rows import ABOVE, SEEDS, all_rows, row


@pytest.fixture
def fact(recorded):
    """A function that gives a fact of made-up runs, computed anew."""
    return lambda name, **settings: FACTS[name](facts_of("loss").settings(settings))


def test_the_recipes_beyond_the_band_are_told_by_their_bits(fact) -> None:
    assert fact("beyond") == "four bits"
    assert fact("beyond", loss_recipes=["per_tensor", "mxfp8"]) == "none"


def test_recipes_of_four_and_of_eight_bits_beyond_the_band_are_both(record) -> None:
    far = [row(TrainJob(recipe="mxfp8", seed=seed), 5.0) for seed in (0, 1)]
    others = [one for one in all_rows() if one.job.recipe != "mxfp8"]
    record([*others, *far])
    assert FACTS["beyond"](facts_of("loss").settings({})) == "both"
    assert FACTS["beyond"](facts_of("loss").settings({"loss_recipes": ["mxfp8"]})) == "eight bits"


def test_the_ruler_is_that_of_the_seeds(fact) -> None:
    assert fact("seeds") == len(SEEDS)
    assert fact("band_width") == pytest.approx(max(SEEDS.values()) - min(SEEDS.values()), abs=1e-3)
    spread = spread_percent([1 + each / 100 for each in SEEDS.values()])
    assert fact("spread") == pytest.approx(spread, rel=1e-3)
    assert fact("needed", loss_delta=0.04) == runs_needed(spread, 0.04)


def test_gaps_are_those_of_the_losses(fact) -> None:
    seeds = (SEEDS[0] + SEEDS[1]) / 2
    assert fact("nvfp4_gap") == pytest.approx(ABOVE["nvfp4"] + seeds, abs=1e-3)
    assert fact("mxfp8_gap") == pytest.approx(ABOVE["mxfp8"] + seeds, abs=1e-3)


def test_the_forwards_part_is_that_of_equal_weights(fact) -> None:
    assert fact("nvfp4_in_bf16") == pytest.approx(0.0, abs=1e-6)  # the made-up loss is that of bf16


def test_recipes_are_counted_by_their_bits(fact) -> None:
    """Among them is the change whose run is that of a published recipe, far beyond the band."""
    changes = [one.job.recipe for one in VARIANTS.values() if one.job.recipe in RECIPES and not one.job.head]
    assert changes == ["per_tensor_e4m3"]
    assert (fact("eight_runs"), fact("eight_beyond")) == (len(["per_tensor", "deepseek_v3", "mxfp8"]) + 1, 1)
    assert (fact("recipes"), fact("compared")) == (len([*ABOVE, *changes]), len(ABOVE))
    assert (fact("four_runs"), fact("four_beyond")) == (len(["nvfp4", "mxfp4"]), 2)


def test_what_a_change_does_is_the_difference_of_both_gaps(fact) -> None:
    place = list(VARIANTS).index("no_rotation")
    beside = 1 + (ABOVE["nvfp4"] + SEEDS[0]) / 100
    assert fact("rotation_apart") == pytest.approx(100 * ((1.04 + place / 100) / beside - 1), abs=1e-3)
    assert fact("rotation_error") > 0


def test_a_run_that_failed_is_told_apart(fact) -> None:
    assert fact("unscaled") == "fails"
    assert fact("unscaled_gap") == pytest.approx(4.0)


def test_without_runs_a_fact_says_so(nothing) -> None:
    with pytest.raises(ValueError, match="no runs of this model are recorded"):
        FACTS["band_width"](facts_of("loss").settings({}))
