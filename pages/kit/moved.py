"""Old addresses: a section that moved to another page takes its readers along."""

from collections.abc import Mapping

import streamlit as st

from pages.kit.address import frame_parameters

Moved = Mapping[tuple[str, str], tuple[str | None, Mapping[str, str]]]
"""(parameter, value) of an old address -> (the script of the page that has it now, its parameters).

None is the same page: the address keeps its other parameters.
"""


def follow_moved(moved: Moved) -> None:
    """Open the page that has taken over what the address asks for; call it right after `guard()`."""
    for (key, value), (script, parameters) in moved.items():
        if st.query_params.get_all(key) != [value]:
            continue
        if script is None:
            st.query_params.update(parameters)
        else:
            st.switch_page(script, query_params={**parameters, **frame_parameters()})
