"""Every page stands in the story: what comes before it, and what comes next."""

import pytest
from streamlit.runtime.scriptrunner import RerunData, RerunException, StopException

from pages.kit import frame
from pages.kit.story.table import Story, page


@pytest.fixture
def drawn(monkeypatch) -> list[str]:
    """What the frame draws around a page, in order."""
    told: list[str] = []
    monkeypatch.setattr(frame, "_draw_before", lambda story, page: told.append("before"))
    monkeypatch.setattr(frame, "_draw_after", lambda story, page: told.append("after"))
    return told


def run(raised: BaseException | None) -> None:
    formats = page("pages/formats.py", title="Formats")
    with frame.framed(Story({"Numbers": [formats]}), formats):
        if raised is not None:
            raise raised


def test_a_page_has_a_frame(drawn):
    run(None)
    assert drawn == ["before", "after"]


def test_a_page_that_stops_has_its_end(drawn):
    with pytest.raises(StopException):
        run(StopException())
    assert drawn == ["before", "after"]


@pytest.mark.parametrize("raised", [RerunException(RerunData()), ZeroDivisionError()], ids=["rerun", "error"])
def test_a_page_that_runs_anew_or_fails_has_none(drawn, raised):
    with pytest.raises(type(raised)):
        run(raised)
    assert drawn == ["before"]


def links(at) -> list[tuple[str, str]]:
    """The links of the frame: where they lead, and their words."""
    return [
        (link.proto.page, link.proto.label) for link in at.get("page_link") if not link.proto.query_string
    ]


def test_a_page_leads_back_to_what_it_needs_and_on_to_the_next(open_app):
    at = open_app("pages/accumulation.py")
    assert links(at)[0] == ("formats", "Formats")
    (name, words) = links(at)[-1]
    assert name == "live_gemm"
    assert words.startswith("Next in the story: **Live GEMM**. What does this recipe cost")
