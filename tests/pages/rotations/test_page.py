"""Every section opens with a picture and a Notice, whose figures are fp8core's."""

import re

import numpy as np
import pytest

from fp8core.experiments.outliers import Rest, draw_outlier_vectors
from fp8core.rotations import hadamard, random_signs
from pages.rotations.controls import CASES, ROTATION, SHOW
from pages.rotations.error import lowered
from pages.rotations.facts import change
from tests.pages.texts import notice, press, texts

PAGE = "pages/rotations.py"
PRODUCT = {"rotations_show": "error", "rotations_of": "product"}


PARTS = {part: {"rotations_show": part} for part in SHOW.options} | {"product": PRODUCT}
by_part = pytest.mark.parametrize("address", PARTS.values(), ids=PARTS)


@by_part
def test_every_part_opens_with_a_picture_and_a_notice(open_app, address) -> None:
    at = open_app(PAGE, **address)
    assert not at.exception
    assert at.title[0].value == "Where do outliers go?"
    assert len(at.get("vega_lite_chart")) == 1
    assert re.search(r"\*\*.*\d.*\*\*", notice(at))
    assert len(notice(at).split()) <= 25


@by_part
def test_the_ends_of_every_range_work(open_app, address) -> None:
    ends = (("zero", 1, 1, 16), ("zero", 8, 128, 16), ("gaussian", 1, 128, 1024))
    for rest, count, magnitude, size in ends:
        numbers = {"rotations_outliers": count, "rotations_magnitude": magnitude, "rotations_size": size}
        at = open_app(PAGE, rotations_rest=rest, **address, **{k: str(n) for k, n in numbers.items()})
        assert not at.exception, at.exception[0].value
        assert not at.warning
        assert not re.search(r"\b(nan|inf)\b", notice(at).lower())


def test_the_notice_has_the_vectors_own_figures(open_app) -> None:
    at = open_app(PAGE, rotations_size="64", rotations_magnitude="50", seed="7")
    x = draw_outlier_vectors(Rest.GAUSSIAN, (1, 64), 1, 7).at(50)
    y = hadamard(x.astype(np.float64), 64, random_signs(64, 7))

    def zeros(v: np.ndarray) -> int:
        tiles = np.abs(v).reshape(-1, 16)
        return int((tiles <= tiles.max(axis=1, keepdims=True) / 6 * 0.25).sum())

    assert f"**{zeros(x)} of 64 numbers become 0**" in notice(at)
    assert f"Rotated, {zeros(y) or 'none'} do" in notice(at)


def test_the_page_opens_where_a_rotation_helps_and_offers_where_it_does_not(open_app) -> None:
    at = open_app(PAGE)
    assert at.query_params == {}
    assert "Rotated, none does" in notice(at)
    for case in CASES:
        at.segmented_control(key="_rotations_case").set_value(case).run()
        assert not at.exception
        without, rotated = (
            float(x) for x in re.findall(r"loses ([\d.e-]+) .* and ([\d.e-]+) with it", texts(at))[0]
        )
        assert (rotated < without) == (case == "4 bits, one scale"), case
    press(at, "Reset")
    assert at.query_params == {}
    assert at.segmented_control(key="_rotations_case").value == "4 bits, one scale"


def test_an_effect_in_words() -> None:
    assert change(2.0, 1.0) == "2 times smaller"
    assert change(1.0, 3.0) == "3 times larger"
    assert change(1.0, 0.0) == "zero"
    assert change(5e-16, 1.0) == "no longer zero"
    assert change(5e-16, 1.2e-15) == "zero both ways", "an error of fp32 alone"


def test_the_error_notice_tells_both_truths(open_app) -> None:
    at = open_app(PAGE, rotations_show="error", rotations_magnitude="32")
    assert re.search(r"the error \*\*[\d.]+ times larger.* Zeros go from 7\d% to 0%", notice(at))
    at.selectbox(key="rotations_scale").set_value("e8m0_round_up").run()
    assert "times smaller" in notice(at)
    assert "Rotating lowers the total error" in texts(at)


def test_ranges_in_words() -> None:
    assert "never lowers it by more than 5%" in lowered("it", ())
    assert lowered("it", ((2.0, 8.0), (16.0, 32.0))).endswith(" at magnitudes 2 to 8, 16 to 32.")


def test_nvfp4_signs_are_offered_for_their_size_only(open_app) -> None:
    at = open_app(PAGE, rotation="nvfp4_hadamard")
    assert at.query_params == {"rotation": "nvfp4_hadamard"}
    at.selectbox(key="rotations_size").set_value("64").run()
    assert not at.exception
    assert at.session_state[ROTATION.key] != "nvfp4_hadamard"
