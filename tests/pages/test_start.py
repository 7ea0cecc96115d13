"""Start: the door of the app, and what a link of yesterday still opens."""

from dataclasses import replace

import pytest

from kernels.bench.job import GemmJob
from pages.start.numbers import COUNT, tile
from pages.start.words import NO_TIMES
from tests.pages.gemm_rows import gpu_row
from tests.pages.hostile import hostile_queries

PAGE = "pages/start.py"


def picture(at) -> str:
    (found,) = [one.value for one in at.get("html") if 'class="start"' in one.value]
    return found


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


@pytest.mark.parametrize(
    "asked",
    [{"recipe": "mxfp8", "matmul": "wgrad"}, {"show": "counts", "present": "true"}, {"tokens": ["1", "2"]}],
    ids=["recipe", "projector", "twice"],
)
def test_a_link_of_yesterday_opens_tile_layouts_with_its_parameters(open_app, asked):
    at = open_app(None, **asked)
    there = open_app("pages/tile_layouts.py", **asked)
    assert not at.exception
    assert [one.value for one in at.title] == [one.value for one in there.title]
    assert at.query_params == there.query_params
    assert [one.value for one in at.warning] == [one.value for one in there.warning]


def test_the_size_of_the_numbers_is_in_the_address_and_decides_what_is_lost(open_app):
    at = open_app(PAGE)
    assert f"<b>{COUNT} of {COUNT}</b> become 0" in picture(at)
    at.slider(key="power").set_value(0).run()
    assert at.query_params == {"power": "0"}
    assert f"Without a scale: <b>{tile(0).zeros_plain} of {COUNT}</b> become 0" in picture(at)
    at.slider(key="power").set_value(12).run()
    assert f"<b>{tile(12).is_beyond.sum()}</b> saturate" in picture(at)
    assert at.markdown[0].value.startswith(
        f"Without a scale, **{tile(12).is_beyond.sum()} of {COUNT} numbers"
    )


def test_hostile_addresses_of_its_own_control_give_a_working_page(open_app):
    for query in hostile_queries(["power"], n=4):
        own = {"power": query["power"]} if "power" in query else {}
        at = open_app(PAGE, **own)
        assert not at.exception
        assert picture(at)


def test_the_name_of_a_gpu_is_shown_as_text(open_app, on_gpu, measured_here):
    row = gpu_row(GemmJob(recipe="mxfp8", matmul="wgrad", m=64, n=64, k=64))
    measured_here(replace(row, machine=replace(row.machine, name="<b>secret</b>")))
    at = open_app(PAGE)
    assert "&lt;b&gt;secret" in faster(at)
    assert any(r"\<b\>secret" in one.value for one in at.caption)


def test_no_recorded_time_is_said_and_not_made_up(open_app, stand_in_workers):
    assert NO_TIMES in faster(open_app(PAGE))
