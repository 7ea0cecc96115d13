"""Every page stands in the story: what comes before it, and what comes next."""

import pytest
from streamlit.runtime.scriptrunner import RerunData, RerunException, StopException

from pages.kit import frame
from pages.kit.story import Story, page
from tests.pages.conftest import TOP


@pytest.fixture
def drawn(monkeypatch) -> list[str]:
    """What the frame draws around a page, in order."""
    told: list[str] = []
    monkeypatch.setattr(frame, "draw_before", lambda story, page: told.append("before"))
    monkeypatch.setattr(frame, "draw_next", lambda story, page: told.append("after"))
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
    assert drawn == []


def test_no_page_stops_in_a_way_that_leaves_it_without_an_end():
    """After `st.stop()` nothing can be drawn. Only the guard may use it: `app.py` has drawn all by then."""
    scripts = [path for path in (TOP / "pages").rglob("*.py") if "st.stop()" in path.read_text("utf-8")]
    assert [path.name for path in scripts] == ["shell.py"]
