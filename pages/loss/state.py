"""The group of runs that the reader looks at."""

import streamlit as st

from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.loss.controls import SIZE
from pages.loss.runs import Group, group_of, groups, here, recorded

_BAD_SHOWN = 3


def group_here(controls: Controls) -> Group | None:
    """Draw the choice of the model, and return its group of runs, those of this session among them."""
    size = controls.draw(SIZE)
    if bad := recorded().bad:
        told = "\n".join(f"- {plain(str(one))}." for one in bad[:_BAD_SHOWN])
        st.warning(f"These lines of the recorded runs cannot be read and are left out:\n\n{told}")
    return group_of(size, groups(here()))
