"""Contract: the crossing is where floats begin to lose less; the sentence names the winner of each side."""

import math

import pytest

from fp8core.experiments.error_curves import CREST_POWERS, Counted, Draws
from pages.outliers.int8 import crossing, notice
from pages.outliers.measures import bare_crest


def curve(*values: float) -> tuple[Draws, ...]:
    return tuple(Draws(at=2.0**i, sqnr_db=(value,), bits=8.0) for i, value in enumerate(values))


def test_the_crossing_lies_between_the_last_loss_and_the_gain_after_it():
    assert crossing(curve(3, 3, 3), curve(1, 2, 5)) == pytest.approx(2 ** (1 + 1 / 3))
    assert crossing(curve(3, 3, 3), curve(4, 2, 3)) is None, "floats never win for good"
    assert crossing(curve(1, 1), curve(2, 2)) is None, "floats always win"


def test_integers_win_on_flat_numbers_and_floats_on_heavy_tails():
    integer, floating = (bare_crest(name, 0, Counted.ALL) for name in ("mxint8", "e4m3"))
    assert integer[0].mean > floating[0].mean
    assert floating[-1].mean > integer[-1].mean
    told = notice(integer, floating)
    assert told.startswith("On Gaussian numbers int8 is **")
    at = crossing(integer, floating)
    assert integer[CREST_POWERS.index(1.0)].at < at < integer[-1].at
    assert math.isfinite(at)
