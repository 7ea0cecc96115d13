"""Contract: how sure a gap is, here and elsewhere, follows from the spread of equal runs."""

import pytest

from fp8core.experiments.run_spread import runs_needed, spread_percent
from fp8core.recipes import RECIPES
from kernels.train.job import TrainJob
from pages.loss import runs
from pages.loss.sourced import sourced
from pages.loss.sure import ends_of
from tests.pages.loss.page import PAGE, texts
from tests.pages.loss.rows import ABOVE, LAST, SEEDS, all_rows, row, write


def test_the_runs_a_difference_takes_follow_the_spread_of_seeds(open_app, recorded) -> None:
    spread = spread_percent([LAST * (1 + each / 100) for each in SEEDS.values()])
    told = texts(open_app(PAGE, loss_of="ends", loss_delta="0.1"))
    assert f"**{runs_needed(spread, 0.1)} runs of each**" in told
    assert f"already spread by {spread:.2f}%" in told
    assert "**Equal seeds help here.**" in told  # a made-up recipe adds the same to each seed's loss
    assert f"| NVFP4 | 2 | {ABOVE['nvfp4']:+.2f}" in told
    assert "Were all 6 equal to bf16, 0.3 of these intervals would leave out 0 by chance" in told


def test_seeds_that_do_not_matter_help_nothing(open_app, tmp_path, monkeypatch) -> None:
    rows = [one for one in all_rows() if one.job.recipe != "mxfp8"]
    turned = [row(TrainJob(recipe="mxfp8", seed=seed), -3 * SEEDS[seed]) for seed in SEEDS]
    monkeypatch.setattr(runs, "TRAIN", write(tmp_path, [*rows, *turned]))
    assert "**Equal seeds do not help for sure.**" in texts(open_app(PAGE, loss_show="sure"))


def test_published_gaps_stand_beside_ours_with_their_source(open_app, recorded) -> None:
    told = texts(open_app(PAGE, loss_show="elsewhere"))
    for one in sourced().published:
        assert one.link in told
        assert set(one.recipes) <= set(RECIPES)
    # equal seeds leave no error here, and one source gives a bound
    assert "Of 10 published gaps, **1 agree with ours**." in told
    assert "each against bf16's run of the same seed" in told


def test_without_help_of_equal_seeds_gaps_have_the_width_of_the_band(open_app, tmp_path, monkeypatch) -> None:
    rows = [one for one in all_rows() if one.job.seed in (0, 1) or one.job.recipe == "bf16"]
    monkeypatch.setattr(
        runs, "TRAIN", write(tmp_path, [one for one in rows if one.job.seed == 0] + rows[1:4])
    )
    told = texts(open_app(PAGE, loss_show="elsewhere"))
    assert "against the mean of bf16's seeds" in told
    assert "Of 10 published gaps, **2 agree with ours**." in told


def test_where_runs_ended_is_in_percent_of_the_mean_of_bf16(recorded) -> None:
    (group,) = runs.groups()
    found = ends_of(group)
    assert found["bf16"] == pytest.approx([*SEEDS.values()], abs=1e-6)
    nvfp4 = found[RECIPES["nvfp4"].title]
    assert nvfp4 == pytest.approx([ABOVE["nvfp4"] + SEEDS[seed] for seed in (0, 1)], abs=1e-6)
