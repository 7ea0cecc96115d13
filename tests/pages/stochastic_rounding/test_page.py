"""Contract: every control gives a working page whose sentences hold the computed figures."""

import io
import re

import numpy as np
import pytest
from PIL import Image

from fp8core.experiments.pictures import to_light
from fp8core.formats import FORMATS
from pages.kit.charts.words import percent_text
from pages.stochastic_rounding.controls import (
    COLUMN,
    DEBIAS,
    ELEMENTS,
    FORMAT,
    PULL,
    RATE,
    SPOT,
    WEIGHT,
)
from pages.stochastic_rounding.picture import MYSTERY, mystery
from pages.stochastic_rounding.recipes import operand_of, quantized, tensor_of
from tests.pages.texts import press, texts
from tests.sweeps import each, some_pairs

PAGE = "pages/stochastic_rounding.py"
WEIGHTS = {
    f"{name}-{rate}": (name, str(rate))
    for name in WEIGHT.options
    for rate in (min(RATE.options), max(RATE.options))
}


def notice(at) -> str:
    assert not at.exception, at.exception[0].value
    assert len(at.main.markdown[0].value.split()) <= 25
    return at.main.markdown[0].value


def png(gray: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(gray).save(file, "PNG")
    return file.getvalue()


def test_the_figures_of_black_and_white_are_those_of_the_shipped_picture(open_app):
    light = to_light(np.asarray(Image.open(MYSTERY)))
    at = open_app(PAGE, beside="original")
    assert f"of {light.mean():.3g}." in notice(at)
    mean = float(re.search(r"\*\*([\d.]+) of", notice(at))[1])
    assert mean == pytest.approx(light.mean(), rel=0.02)


@pytest.mark.parametrize("elements", ELEMENTS.options)
@pytest.mark.parametrize("spot", SPOT.options)
def test_the_picture_goes_through_the_recipes(open_app, spot, elements):
    text = notice(open_app(PAGE, part="recipes", spot=str(spot), elements=elements, pixel_row="0"))
    light = mystery().light
    tensor, is_spot = tensor_of(light, (0, COLUMN.default), spot)
    black = quantized(tensor, is_spot, operand_of("per_tensor", elements)).black
    assert f"**{percent_text(black, 2)} of the picture" in text


@pytest.mark.parametrize(("name", "debias"), some_pairs(each(FORMAT.options), DEBIAS.options))
def test_the_mean_answers_for_every_format_and_variant(open_app, name, debias):
    text = notice(open_app(PAGE, part="mean", format=name, debias=debias, random_bits="4"))
    bound = 2.0**-4 if debias == "truncate" else 2.0**-5
    assert 0.8 * bound < float(re.search(r"at most \*\*([\d.]+) of a step", text)[1]) <= bound + 1e-3


@pytest.mark.parametrize(("name", "lr", "pull"), some_pairs(WEIGHTS, PULL.options))
def test_the_weight_answers_for_every_format_gradient_and_rate(open_app, name, lr, pull):
    assert "To nearest" in notice(open_app(PAGE, part="weight", weight=name, pull=pull, lr=lr))


def test_bf16_at_1_freezes_where_the_update_is_below_two_to_the_minus_nine(open_app):
    frozen = "**the weight stands still from the start.**"
    at = open_app(PAGE, part="weight", lr="0.001")
    assert frozen in notice(at)
    assert "|lr · g| = 0.001 is less than half the gap to bf16's next value, 0.00195" in texts(at)
    assert at.query_params == {"part": "training"}
    assert frozen not in notice(open_app(PAGE, part="weight", lr="0.003"))


@pytest.mark.parametrize("name", FORMAT.options)
def test_a_dot_product_answers_in_every_format_and_nearest_wins_where_signs_cancel(open_app, name):
    text = notice(open_app(PAGE, part="dot", format=name))
    times = float(re.search(r"has \*\*([\d.]+) times nearest", text)[1])
    # Below 3 standard deviations nearly all of the error is what both roundings cut off at the largest value.
    assert times > 1 or (times == 1 and FORMATS[name].max < 3)


def test_the_bias_of_e2m1_is_the_one_its_density_gives(open_app):
    # 1 - (E[round |z|] / E|z|)², from the eight values and the normal distribution's tails.
    assert "bias (2.8%)" in texts(open_app(PAGE, part="dot", format="e2m1"))


def test_an_own_picture_is_shown_until_it_is_given_back(open_app):
    at = open_app(PAGE)
    before = notice(at)
    at.file_uploader[0].set_value(("me_**.png", png(np.full((30, 50), 188, np.uint8)), "image/png")).run()
    assert "of 0.503." in notice(at)
    assert "me_**.png, as 50 × 30 pixels" in at.text[0].value
    assert at.query_params == {}
    at.segmented_control(key="part").set_value("mean").run()
    at.segmented_control(key="part").set_value("picture").run()
    assert "of 0.503." in notice(at)
    press(at, "Back to the mystery picture")
    assert notice(at) == before


def test_a_file_that_cannot_be_used_is_explained_and_the_picture_stays(open_app):
    at = open_app(PAGE)
    at.file_uploader[0].set_value(("me.png", png(np.full((30, 50), 188, np.uint8)), "image/png")).run()
    at.file_uploader[0].set_value(("x.png", b"not a picture", "image/png")).run()
    assert not at.exception
    assert len(at.error) == 1
    assert at.error[0].value.startswith("“x.png”\\: This is no PNG or JPEG picture")
    assert "of 0.503." in notice(at)
    at.file_uploader[0].set_value(("me.png", png(np.full((30, 50), 18, np.uint8)), "image/png")).run()
    assert not at.error
    assert "of 0.503." not in notice(at)
