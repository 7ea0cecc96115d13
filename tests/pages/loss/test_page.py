"""Contract: each section answers, with records and without."""

import pytest

from pages.loss.controls import ALL_CONTROLS, SHOW
from tests.pages.hostile import A_PAGE, hostile_queries
from tests.pages.loss.page import PAGE, texts


@pytest.mark.parametrize("section", SHOW.options)
def test_each_section_answers_with_records_and_without(open_app, recorded, section) -> None:
    assert "A GPU" in texts(open_app(PAGE, loss_show=section)) or section == "train"


@pytest.mark.parametrize("section", SHOW.options)
def test_each_section_answers_without_records(open_app, nothing, section) -> None:
    told = texts(open_app(PAGE, loss_show=section))
    assert "No run of this model is recorded here yet" in told or section == "train"


def test_a_line_that_cannot_be_read_is_told_and_left_out(open_app, recorded) -> None:
    path = recorded / "a-gpu.jsonl"
    path.write_text(path.read_text() + '{"job": 3}\n', encoding="utf-8")
    at = open_app(PAGE)
    assert "cannot be read and are left out" in at.warning[0].value
    assert "above bf16**" in texts(at)


def test_hostile_addresses_give_a_working_page(open_app, recorded) -> None:
    for query in hostile_queries([control.key for control in ALL_CONTROLS], A_PAGE):
        texts(open_app(PAGE, **query))
