"""Section "One scale": its sentences, its picture and its facts hold the computed figures."""

from itertools import cycle

import ml_dtypes
import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.inputs import LAWS, OFFERED, InputKind, draw, stretch
from fp8core.linear import OPERANDS
from pages.kit.charts.ink import LIGHT
from pages.kit.lesson.facts import fact
from pages.scaling.charts.window import BIN, BINS, CURVE, SPANS
from pages.scaling.window import FORMAT, LOG2_SCALE, on_slider, positions, presets, sweep, window_spec
from tests.pages.specs import dataset, sent_dataset
from tests.pages.texts import notice, press

PAGE = "pages/scaling.py"
GRADIENTS = {"scaling_input": "gradient_like"}
SOME_KINDS = [kind.value for kind in (*LAWS, *OFFERED[-1:])]
"""Every law, and one recorded layer."""


def test_without_parameters_nothing_is_scaled_and_all_becomes_zero(open_app):
    at = open_app(PAGE)
    assert (np.abs(draw(InputKind.GRADIENT_LIKE, (32, 128), 0)) < 2.0**-10).all()
    assert "**100% of the numbers become 0.**" in notice(at)
    assert at.query_params == {}
    assert not at.warning


def test_the_sqnr_of_the_amax_scale_is_that_of_a_direct_cast():
    x = draw(InputKind.GAUSSIAN, (32, 128), 5).astype(np.float64)
    scale = np.abs(x).max() / 448
    cast = (x / scale).astype(np.float32).astype(ml_dtypes.float8_e4m3fn).astype(np.float64) * scale
    sqnr = 10 * np.log10(np.sum(x**2) / np.sum((cast - x) ** 2))
    _, amax = sweep(("e4m3", "gaussian", "x", 5))
    assert amax.sqnr_db[0] == pytest.approx(sqnr)


@pytest.mark.parametrize(("name", "kind"), [*zip(FORMAT.options, cycle(SOME_KINDS), strict=False)])
def test_every_format_and_kind_of_numbers_answers(open_app, name, kind):
    at = open_app(PAGE, scaling_format=name, scaling_input=kind)
    press(at, "amax scale")
    assert "SQNR" in notice(at) or "become 0" in notice(at)
    assert f"The window of {name}" in sent_dataset(at.get("vega_lite_chart")[0], SPANS)["words"]


@pytest.mark.skipif(OFFERED == LAWS, reason="assets/tensors holds no recorded tensors")
def test_a_recorded_layer_has_its_three_tensors_to_choose_from(open_app):
    kind = InputKind.REAL_DOWN_LATE
    for tensor in OPERANDS:
        at = open_app(PAGE, scaling_input=kind.value, scaling_tensor=tensor.value)
        x = np.abs(stretch(kind, tensor, 4096, 0))
        bins = sent_dataset(at.get("vega_lite_chart")[0], BINS)
        assert bins["left"][-1] <= np.log2(x.max()) < bins["left"][-1] + BIN
    assert "scaling_tensor" not in [box.key for box in open_app(PAGE).segmented_control]


def test_a_plateau_that_leaves_the_slider_is_not_measured_short(open_app):
    least = "by a factor of at least"
    assert least in notice(open_app(PAGE, scaling_format="bf16", scaling_log2="-18"))
    assert least not in notice(open_app(PAGE, scaling_log2="-18"))


def test_a_button_moves_the_scale_and_the_address_follows(open_app):
    at = press(open_app(PAGE), "amax scale")
    amax = np.abs(draw(InputKind.GRADIENT_LIKE, (32, 128), 0)).max()
    at_scale = float(at.query_params["scaling_log2"])
    assert at_scale - 0.25 < np.log2(amax / 448) <= at_scale
    assert f'"value": [{{"at": {at_scale}}}]' in at.get("vega_lite_chart")[0].proto.spec
    assert press(at, "No scale").query_params == {}


@pytest.mark.parametrize("name", FORMAT.options)
def test_every_scale_of_a_button_and_of_the_slider_is_accepted_and_has_no_digits_that_nobody_chose(name):
    """log2 of 2**-0.25 is -0.25000000000000006."""
    for kind in ("gradient_like", "outlier_channels"):
        window = (name, kind, "x", 3)
        for value in (*presets(window).values(), *positions(sweep(window)[0]), on_slider(window, -0.3)):
            assert 4 * value == round(4 * value)
            assert LOG2_SCALE.accepts(float(value)), (value, window)


@pytest.mark.parametrize("name", FORMAT.options)
def test_every_number_is_in_one_bar_and_edges_are_the_formats(name):
    for kind in SOME_KINDS:
        spec, format_ = window_spec((name, kind, "dy", 1), 0.0, LIGHT), FORMATS[name]
        assert sum(dataset(spec, BINS)["share"]) == pytest.approx(1.0)
        spans = dataset(spec, SPANS)
        assert spans["x0"][1:] == spans["x1"][:-1]
        assert spans["x0"] == sorted(spans["x0"])
        ends = [format_.min_subnormal / 2, format_.min_normal, format_.max]
        assert np.exp2(spans["x1"][:-1]) == pytest.approx(ends, rel=1e-12)


def test_bars_agree_with_the_shares_of_the_curve():
    spec = window_spec(("e4m3", "gaussian", "x", 0), 0.0, LIGHT)
    bins, curve = ({key: np.array(x) for key, x in dataset(spec, name).items()} for name in (BINS, CURVE))
    left, share, zero = bins["left"], bins["share"], dataset(spec, SPANS)["x1"][0]
    for s, dead in zip(curve["s"], curve["dead"], strict=True):
        assert share[left + BIN - s <= zero].sum() - 1e-12 <= dead <= share[left - s <= zero].sum() + 1e-12


def test_a_smaller_scale_saves_small_numbers():
    dead = [fact("scaling.zeros_share", {"scaling_log2": at}) for at in (-20, -12, 0, 6)]
    assert dead == sorted(dead)
    assert dead[0] < dead[-1]


def test_the_scale_of_amax_is_near_the_best_of_all():
    best = max(fact("scaling.sqnr_db", GRADIENTS | {"scaling_log2": at}) for at in range(-24, 8))
    assert fact("scaling.amax_sqnr_db", GRADIENTS) == pytest.approx(best, abs=3)
    assert fact("scaling.plateau_factor", GRADIENTS) > 2
