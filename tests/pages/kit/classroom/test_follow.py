"""Contract: students' pages go where the teacher's is, and show what it shows."""

import pytest
import streamlit as st

from pages.kit.classroom import follow
from pages.kit.classroom.shared import Lead
from pages.kit.view import HIDDEN_KEY


@pytest.fixture
def went(monkeypatch):
    """A function: the page and the parameters where a student goes; None for one who stays."""

    def go(here: str, query: dict[str, str], lead: Lead, waits: bool = False):
        addresses: list = []
        monkeypatch.setattr(st, "session_state", {HIDDEN_KEY: waits})
        monkeypatch.setattr(
            st, "switch_page", lambda script, query_params: addresses.append((script, query_params))
        )
        monkeypatch.setattr(follow, "_address", lambda: dict(query))
        monkeypatch.setattr(follow.address, "frame_parameters", lambda: {"present": "true"} | query)
        follow._go(here, lead)
        return addresses[0] if addresses else None

    return go


def led(page: str | None, **parameters: str) -> Lead:
    return Lead(number=1, version=2, page=page, parameters=parameters)


def test_a_student_goes_to_the_teachers_address_and_keeps_the_projectors_mode(went):
    there = ("pages/formats.py", {"number": "0.7", "present": "true"})
    assert went("scaling", {}, led("formats", number="0.7")) == there
    assert went("formats", {"number": "1"}, led("formats", number="0.7")) == there
    assert went("formats", {"number": "0.7"}, led("formats", number="0.7")) is None
    assert went("scaling", {}, led(None)) is None


def test_a_new_step_opens_before_its_answer(went):
    lead = led("scaling", lesson="scaling.2", scaling="rules")
    there = ("pages/scaling.py", {"lesson": "scaling.2", "present": "true"})
    assert went("scaling", {"lesson": "scaling.1"}, lead) == there
    assert went("formats", {}, lead, waits=True) == there


def test_who_has_not_predicted_yet_is_not_shown_the_answer(went):
    lead, here = led("scaling", lesson="scaling.2", scaling="rules"), {"lesson": "scaling.2"}
    assert went("scaling", here, lead, waits=True) is None
    assert went("scaling", here, lead)[1] == {"lesson": "scaling.2", "scaling": "rules", "present": "true"}
