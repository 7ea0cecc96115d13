"""Clicks on a chart, one at a time: the mark that a click added to the chart's selection or removed.

Only a selection that keeps all clicked marks changes when one mark is clicked twice.
"""

from collections.abc import Mapping

import streamlit as st

from pages.kit.widgets import selected

Place = dict[str, object]
_BEFORE = "_clicks_{key}"


def clicked(key: str, parameter: str) -> Place | None:
    """The fields of the mark that was just clicked in the chart `key`; for its `on_select`."""
    now = selected(key, parameter) or []
    before = st.session_state.get(_BEFORE.format(key=key), [])
    changed = [c for c in now if c not in before] or [c for c in before if c not in now]
    return changed[-1] if changed else None


def remember(key: str, parameter: str, drawn: Mapping[str, object]) -> None:
    """Note the selection of the chart as it is drawn; a chart drawn anew has none."""
    st.session_state[_BEFORE.format(key=key)] = _selected(drawn, parameter)


def _selected(state: Mapping[str, object], parameter: str) -> list[Place]:
    return list(state.get("selection", {}).get(parameter) or [])
