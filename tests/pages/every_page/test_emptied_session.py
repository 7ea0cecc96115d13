"""Contract: a visitor may have Streamlit empty his session: the page goes on as its address says."""

import ast
import json
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[3]
PAGES = sorted(f"pages/{path.name}" for path in (TOP / "pages").glob("*.py"))


def told(at):
    """What a browser sends with a run: the value of each widget, and each chart's selection."""
    states = at._tree.get_widget_states()
    for chart in at.get("vega_lite_chart"):
        if chart.proto.id:
            selection = {name: [] for name in chart.proto.selection_mode}
            states.widgets.add(id=chart.proto.id, string_value=json.dumps({"selection": selection}))
    return states


def emptied(at):
    """The page's next run after the message that empties the session."""
    states = told(at)
    at._session_state._state.clear()
    return at._run(states)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_goes_on_after_its_session_was_emptied(open_app, page):
    at = open_app(page)
    before = dict(at.query_params)
    emptied(at)
    assert not at.exception, at.exception[0].message
    assert dict(at.query_params) == before


def test_a_setting_is_that_of_the_address_after_the_session_was_emptied(open_app):
    at = open_app("pages/tile_layouts.py", recipe="mxfp8", matmul="wgrad")
    before = dict(at.query_params)
    emptied(at)
    assert not at.exception
    assert dict(at.query_params) == before


def reads(source: str) -> list[str]:
    """The keys that a file reads from the session as if they were always there."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and ast.unparse(node.value) == "st.session_state"
    ]


def test_no_line_reads_a_key_that_may_be_gone():
    found = {str(path.relative_to(TOP)): reads(path.read_text()) for path in (TOP / "pages").rglob("*.py")}
    assert {name: keys for name, keys in found.items() if keys} == {}
    assert reads("x = st.session_state[key].a\nst.session_state[key] = 1") == ["st.session_state[key]"]
