"""Start: the door of the app, and what a link of yesterday still opens."""

from dataclasses import replace
from urllib.parse import parse_qsl

import numpy as np
import pytest

from fp8core.experiments.pulled_number import ROWS, K, Scales, pulled, recorded
from fp8core.linear import WGRAD
from fp8core.recipes import RECIPES
from kernels.measure.jobs import GemmJob
from pages.start.times import NO_TIMES
from pages.start.window import PER_POWER, PULL, STEPS, Scene, notice
from tests.pages.gemm_rows import gpu_row

PAGE = "pages/start.py"
TWO_LINES = 90
"""Letters of a Notice on a telephone."""


def faster(at) -> str:
    (found,) = [one.value for one in at.get("html") if 'class="faster"' in one.value]
    return found


def test_the_address_without_a_name_asks_its_question_and_has_three_doors(open_app):
    at = open_app()
    assert not at.exception
    assert [one.value for one in at.title] == ["How can a network train in eight bits?"]
    doors = [link.proto.page for link in at.main.get("page_link")]
    assert doors == ["lesson", "tile_layouts", "sanity_check"]
    assert at.query_params == {}


def test_the_door_to_tile_layouts_opens_the_same_picture_at_full_size(open_app):
    at = open_app(PAGE, start_format="mxfp8", start_matmul="dgrad")
    (door,) = [link.proto for link in at.main.get("page_link") if link.proto.page == "tile_layouts"]
    parameters = dict(parse_qsl(door.query_string))
    assert parameters == {"show": "row", "recipe": "mxfp8", "matmul": "dgrad"}
    there = open_app("pages/tile_layouts.py", **parameters)
    assert not there.exception
    assert not there.warning
    assert "Pull the gold number up." in there.markdown[0].value


@pytest.mark.parametrize(
    "parameters",
    [{"recipe": "mxfp8", "matmul": "wgrad"}, {"show": "counts", "present": "true"}, {"tokens": ["1", "2"]}],
    ids=["recipe", "projector", "twice"],
)
def test_a_link_of_yesterday_opens_tile_layouts_with_its_parameters(open_app, parameters):
    at = open_app(None, **parameters)
    there = open_app("pages/tile_layouts.py", **parameters)
    assert not at.exception
    assert [one.value for one in at.title] == [one.value for one in there.title]
    assert at.query_params == there.query_params
    assert [one.value for one in at.warning] == [one.value for one in there.warning]


@pytest.mark.parametrize(("scales", "step"), [*zip(Scales, [PULL.low, 0, PULL.high], strict=True)])
def test_the_notice_counts_what_becomes_zero(open_app, scales, step):
    at = open_app(PAGE, start_scales=scales.value, start_pull=str(step), start_number="5")
    lost = pulled(
        recorded(), 5, np.array([2.0 ** (step / PER_POWER)]), RECIPES["per_tensor_e4m3"].spec(WGRAD), scales
    ).is_lost.sum()
    count = {0: "none", ROWS * K: "all"}.get(int(lost), str(lost))
    assert f"**{count} of {ROWS * K}" in at.markdown[0].value


@pytest.mark.parametrize("recipe", ["per_tensor_e4m3", "mxfp4"])
@pytest.mark.parametrize("scales", Scales)
def test_the_notice_has_two_lines_on_a_telephone_wherever_the_hand_is(scales, recipe):
    """With a third one the picture would move under the finger."""
    scene = Scene(WGRAD, recipe, scales, 12)
    longest = max((notice(scene, frame).replace("*", "") for frame in range(STEPS.size)), key=len)
    assert len(longest) <= TWO_LINES, longest


def test_a_link_to_the_picture_before_stays_here(open_app):
    at = open_app(None, power="-9")
    assert [one.value for one in at.title] == ["How can a network train in eight bits?"]
    assert "power" in at.warning[0].value


def test_the_name_of_a_gpu_is_shown_as_text(open_app, on_gpu, measured_here):
    row = gpu_row(GemmJob(recipe="mxfp8", matmul="wgrad", m=64, n=64, k=64))
    measured_here(replace(row, machine=replace(row.machine, name="<b>secret</b>")))
    at = open_app(PAGE)
    assert "&lt;b&gt;secret" in faster(at)
    assert any(r"\<b\>secret" in one.value for one in at.caption)


def test_no_recorded_time_is_said_and_not_made_up(open_app, stand_in_workers):
    assert NO_TIMES in faster(open_app(PAGE))
