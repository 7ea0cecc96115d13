"""The axis of an answer: empty before the answer, then with the guess and the truth."""

import pyarrow as pa

from pages.kit.charts.guess_axis import POINTS, guess_axis, powers_of_ten
from pages.kit.charts.ink import LIGHT


def drawn(points=None):
    return guess_axis(1.0, 100.0, "dB", LIGHT, is_log=True, points=points)


def points(spec) -> dict:
    return pa.ipc.open_stream(spec["datasets"][POINTS]).read_all().to_pydict()


def test_a_point_beyond_an_end_is_drawn_at_that_end_with_its_words_inside():
    both = points(drawn((3.0, 400.0)))
    assert both["who"] == ["you", "the page"]
    assert both["value"] == [3.0, 100.0]
    assert both["is_right"] == [False, True]


def test_a_logarithmic_axis_has_its_ticks_at_powers_of_ten():
    assert powers_of_ten(1e-3, 20.0) == [0.001, 0.01, 0.1, 1.0, 10.0]
    assert powers_of_ten(2.0, 30.0) == [2.0, 30.0]
    assert drawn()["layer"][0]["encoding"]["x"]["axis"]["values"] == [1.0, 10.0, 100.0]
