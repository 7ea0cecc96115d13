"""The controls of one page, bound to its address and kept while the reader switches pages.

    ROW = Whole(key="row", label="Tile row", low=0, high=4095, default=0)

    controls = Controls(RECIPE, MATMUL, ROW)      # once a run, before the first control is drawn
    controls.toolbar(st.sidebar)                  # copy link, reset, what a link got wrong
    recipe = RECIPES[controls.draw(RECIPE, st.sidebar)]
    row = controls.draw(ROW, high=rows - 1)       # a bound decided by another control clamps the value
    st.button("The first tile", on_click=controls.preset, kwargs={"row": 0})
    st.page_link("pages/live_gemm.py", query_params=link_params(recipe=recipe.name, matmul="wgrad"))

A value lives in `st.session_state[control.key]`; pages that declare the same key share it. The address names
the values that are not the default.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.kit import address
from pages.kit.inert import quoted
from pages.kit.look import presenter
from pages.kit.look.save_pictures import draw_save_pictures
from pages.kit.view import more, warning_place
from pages.kit.widgets import Control, Place, Value

T = TypeVar("T", bound=Value)

_COMPLAINTS_SHOWN = 4


def link_params(**values: Value) -> dict[str, str]:
    """`query_params` for `st.page_link` to another page: values by control key, defaults included.

    A link names every value it is about, because a parameter it leaves out keeps the reader's own value.
    """
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in values.items()
    }


class Controls:
    """The controls of the page that is running. Make it once a run: it reads the address.

    `opening` names values, by control key, that "Reset" and an address without parameters show instead of the
    defaults. A parameter that a link leaves out is at its default all the same.
    """

    def __init__(self, *controls: Control[Any], opening: Mapping[str, Value] | None = None) -> None:
        self._by_key = {control.key: control for control in controls}
        if len(self._by_key) != len(controls):
            raise ValueError(f"two controls share a key: {[control.key for control in controls]}")
        for key, value in (opening or {}).items():
            self._check(key, value)
        self._opening = {key: control.default for key, control in self._by_key.items()} | dict(opening or {})
        self._link: DeltaGenerator | None = None
        self._values: dict[str, Value] = {}
        self._published: dict[str, Value] | None = None
        self._warning: DeltaGenerator | None = None
        self._asked: dict[str, str] = {}
        old = {key for key in self._by_key if address.is_old(key, st.session_state.get(key))}
        reading, found = address.read()
        arrived = reading is not address.Reading.ECHO
        for key in () if arrived else old:
            st.session_state[key] = address.last_told(key)
        self._complaints = self._obey(reading, found) if arrived else []
        start = {} if found else self._opening
        for control in controls:
            held = st.session_state.get(control.key)
            value = start.get(control.key, control.default) if held is None else held
            # Streamlit may still hold the value under the id the widget had on another page, where the
            # widget of this page does not look: on arrival it is said anew.
            self._hold(control, control.fit(value), None if arrived else held)
        self._publish()

    def draw(
        self,
        control: Control[T],
        place: Place | None = None,
        *,
        on_change: Callable[[], None] | None = None,
        **limits: Any,
    ) -> T:
        """Draw one control in `place`, or among the page's further fields, and return its value.

        `limits` narrow it for this run: `low`, `high` for numbers, `options` for a choice.
        """
        if self._by_key.get(control.key) is not control:
            raise ValueError(f"{control.key} is not among this page's controls: {list(self._by_key)}")
        drawn = control.narrow(**limits) if limits else control
        held = st.session_state.get(control.key, self._values[control.key])
        self._hold(drawn, drawn.fit(held), held)
        self._compare(drawn, held)
        value = drawn.fit(drawn.widget(more() if place is None else place, on_change))
        self._values[control.key] = value
        self._publish()
        return value

    def within(self, control: Control[T], **limits: Any) -> T:
        """The value of a control that the page draws by itself, as a slider in a picture, within `limits`."""
        held, drawn = self.value(control), control.narrow(**limits)
        value = drawn.fit(held)
        self._hold(control, value, held)
        self._compare(drawn, held)
        self._publish()
        return value

    def value(self, control: Control[T]) -> T:
        """The value of a control, drawn or not; that of the last run where the session was emptied."""
        return control.fit(st.session_state.get(control.key, self._values.get(control.key)))

    def values(self) -> dict[str, Value]:
        return {key: self.value(control) for key, control in self._by_key.items()}

    def preset(self, **values: Value) -> None:
        """Set controls by key; for callbacks, which run before the page does."""
        for key, value in values.items():
            self._check(key, value)
            self._values[key] = value
            self._say(key, value)

    def _say(self, key: str, value: Value) -> None:
        """Make the session hold a value, and remember the one that the browser may still report."""
        if (held := st.session_state.get(key)) is not None and held != value:
            address.told(key, held, value)
        st.session_state[key] = value

    def _check(self, key: str, value: Value) -> None:
        control = self._by_key.get(key)
        if control is None:
            raise ValueError(f"{key!r} is not among this page's controls: {list(self._by_key)}")
        if not control.accepts(value):
            raise ValueError(f"{key} got {value!r} and needs {control.needs}")

    def reset(self) -> None:
        self.preset(**self._opening)

    def link(self) -> str:
        return address.link(self._wanted())

    def toolbar(self, place: Place | None = None) -> None:
        """Draw "Share", "Present" and "Reset" in `place`, and say on the page what of a link is ignored.

        A telephone shows no sidebar: nobody would read it there.
        """
        row = (st if place is None else place).container(horizontal=True, key="toolbar", gap="medium")
        with row.popover("Share", type="tertiary", width="content"):
            st.caption("This page with these settings. The button at the right copies the link.")
            self._link = st.empty()
            draw_save_pictures()
        presenter.draw_switch(row)
        row.button(
            "Reset",
            key="toolbar_reset",
            type="tertiary",
            on_click=self.reset,
            help="Every control back to its default",
        )
        self._show_link()
        self._warning = warning_place().empty()
        self._complain()

    def _complain(self) -> None:
        if not self._complaints or self._warning is None:
            return
        shown = self._complaints[:_COMPLAINTS_SHOWN]
        more = len(self._complaints) - len(shown)
        self._warning.warning(
            "Ignored from the link: " + "; ".join(shown) + (f"; and {more} more" if more else "") + "."
        )

    def _compare(self, drawn: Control[Any], held: object) -> None:
        """Complain where the link asks for a value beyond the limits of the control as it is drawn."""
        text = self._asked.pop(drawn.key, None)
        if text is None or drawn.accepts(held):
            return
        shown = drawn.text(drawn.fit(held))
        asked = quoted(f"{drawn.key}={text}")
        self._complaints.append(f"{asked} ({drawn.key} needs {drawn.needs} here, and {shown} is shown)")
        self._complain()

    def _obey(self, reading: address.Reading, found: dict[str, list[str]]) -> list[str]:
        """Put the address's values into the session; returns what could not be obeyed, in words."""
        complaints = [f"{quoted(key)} is no control of this page" for key in found if key not in self._by_key]
        for key, control in self._by_key.items():
            texts = found.get(key, [])
            value = control.parse(texts[0]) if len(texts) == 1 else None
            if control.accepts(value):
                self._say(key, value)
                self._asked[key] = texts[0]
            elif texts or reading is address.Reading.HISTORY:
                self._say(key, control.default if found else self._opening[key])
            if len(texts) > 1:
                complaints.append(f"{quoted(key)} is given {len(texts)} times")
            elif texts and not control.accepts(value):
                complaints.append(f"{quoted(f'{key}={texts[0]}')} ({key} needs {control.needs})")
        return complaints

    def _hold(self, control: Control[Any], value: Value, held: object) -> None:
        """Make the session hold `value` where it `held` another: an equal one belongs to a widget in use."""
        self._values[control.key] = value
        if type(held) is not type(value) or held != value:
            self._say(control.key, value)

    def _wanted(self) -> dict[str, str]:
        """The parameters of the address: controls that are not as the page opens."""
        values = self._values
        if values == self._opening:
            return {}
        unusual = [key for key, control in self._by_key.items() if values[key] != control.default]
        named = unusual or [key for key in values if values[key] != self._opening[key]]
        return {key: self._by_key[key].text(values[key]) for key in named}

    def _publish(self) -> None:
        if self._values == self._published:
            return
        self._published = dict(self._values)
        if address.write(self._wanted()):
            self._show_link()

    def _show_link(self) -> None:
        if self._link is not None:
            self._link.code(self.link(), language=None, wrap_lines=True)
