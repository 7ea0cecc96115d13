"""Contract: whatever an address says, each page answers, keeps what it accepts, and shows the rest as text.

A visitor may have Streamlit empty his session as well: the page goes on as its address says.
"""

import ast
import json
import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import TOP
from tests.pages.every_page.budget import CONTROLS, controls_of, sections
from tests.pages.every_page.hostile_markup import MARKUP, shown_alive, shows_word
from tests.pages.hostile import hostile_queries
from tests.sweeps import some_values

PAGES = sorted(path.stem for path in (TOP / "pages").glob("*.py"))
PARTS = 5
MARKED = {text: text for text in (MARKUP[0], MARKUP[6], MARKUP[11])}
OF_STREAMLIT = {"embed", "embed_options"}
POWER = re.compile(r"(?<=[\w)])\*\*(?=[\w({−-])")
"""A power as Python writes it, which Markdown eats."""


def addresses(page: str) -> list[dict[str, str | list[str]]]:
    """An address that is all hostile, and one with each section. The controls alone take hundreds."""
    if page not in CONTROLS:
        return hostile_queries(["recipe"], 2)
    named = [{one.chooser: one.part} for one in sections(page) if one.chooser is not None]
    queries = hostile_queries(list(controls_of(page)), 1 + len(named), seed=PAGES.index(page))
    return [query | section for query, section in zip(queries, [{}, *named], strict=True)]


@pytest.mark.parametrize("part", range(PARTS))
def test_a_page_survives_what_nobody_means_and_the_loss_of_its_session(open_app, request, part):
    for page in PAGES[part::PARTS]:
        keys = controls_of(page) if page in CONTROLS else ["recipe"]
        for query in some_values(addresses(page), request, count=1):
            at = open_app(f"pages/{page}.py", **MARKED, **query)
            assert not at.exception, (page, query, at.exception[0].message)
            assert shows_word(at), (page, query)
            assert shown_alive(at) == [], (page, query)
            assert not [one.value for one in (*at.markdown, *at.caption) if POWER.search(one.value)]
            address = dict(at.query_params)
            assert not set(address) & ({*query, *MARKED} - {*keys, *OF_STREAMLIT}), (page, query)
            emptied(at)
            assert not at.exception, (page, query, at.exception[0].message)
            assert dict(at.query_params) == address, (page, query)


def emptied(at: AppTest) -> AppTest:
    """The page's next run after the message that empties the session."""
    states = _sent(at)
    at._session_state._state.clear()
    return at._run(states)


def _sent(at: AppTest) -> object:
    """States that a browser sends with a run: each widget's value but a button's, each chart's selection."""
    states = at._tree.get_widget_states()
    kept = [one for one in states.widgets if one.WhichOneof("value") != "trigger_value"]
    del states.widgets[:]
    states.widgets.extend(kept)
    for chart in at.get("vega_lite_chart"):
        if chart.proto.id:
            selection = {name: [] for name in chart.proto.selection_mode}
            states.widgets.add(id=chart.proto.id, string_value=json.dumps({"selection": selection}))
    return states


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
    texts = {str(path.relative_to(TOP)): path.read_text() for path in (TOP / "pages").rglob("*.py")}
    found = {name: reads(text) for name, text in texts.items() if "session_state[" in text}
    assert {name: keys for name, keys in found.items() if keys} == {}
    assert reads("x = st.session_state[key].a\nst.session_state[key] = 1") == ["st.session_state[key]"]
