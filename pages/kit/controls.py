"""The controls of one page, bound to its address and kept while the reader switches pages.

    ROW = Whole(key="row", label="Tile row", low=0, high=4095, default=0)

    controls = Controls(RECIPE, MATMUL, ROW)      # once a run, before the first control is drawn
    controls.toolbar()                            # copy link, reset, what a link got wrong
    recipe = RECIPES[controls.draw(RECIPE, st.sidebar)]
    row = controls.draw(ROW, high=rows - 1)       # a bound decided by another control clamps the value
    st.button("The first tile", on_click=controls.preset, kwargs={"row": 0})
    st.page_link("pages/live_gemm.py", query_params=link_params(recipe=recipe.name, matmul="wgrad"))

Pages that declare the same key share its value, `st.session_state[control.key]`. The address names the values
that are not the default.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer
from streamlit.delta_generator import DeltaGenerator

from pages.kit import address
from pages.kit.inert import quoted
from pages.kit.look import presenter
from pages.kit.view import here
from pages.kit.widgets import Control, Place, Value

T = TypeVar("T", bound=Value)

_COMPLAINTS_SHOWN = 4
_LOOK = Path(__file__).parent / "look"


@lru_cache(maxsize=1)
def _save_pictures() -> ComponentRenderer:
    css, js = ((_LOOK / f"save_pictures.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    html = "<ul></ul><p>This page has no picture now.</p>"
    return st.components.v2.component("save_pictures", html=html, css=css, js=js)


def link_params(**values: Value | list[str]) -> dict[str, str]:
    """`query_params` for a link to another page, by control key, defaults included.

    A parameter left out keeps the reader's own value.
    """

    def text(value: Value | list[str]) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        return ",".join(value) if isinstance(value, list) else str(value)

    return {key: text(value) for key, value in values.items()}


class Controls:
    """The running page's controls. Make it once a run: it reads the address.

    `opening`: values by key that "Reset" and an empty address show instead of the defaults. A link's missing
    parameter is at its default all the same.
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
        self._address_values: dict[str, Value] | None = None
        self._warning: DeltaGenerator | None = None
        self._link_texts: dict[str, str] = {}
        reading, query = address.read(self._by_key)
        is_arrival = reading is not address.Reading.ECHO
        for key in self._by_key:
            address.undo_late(key)
        self._complaints = self._obey(reading, query) if is_arrival else []
        start = {} if query else self._opening
        for control in controls:
            value_now = st.session_state.get(control.key)
            value = start.get(control.key, control.default) if value_now is None else value_now
            # Streamlit may still hold the value under the id the widget had on another page, where the
            # widget of this page does not look: on arrival it is said anew.
            self._hold(control, control.fit(value), None if is_arrival else value_now)
        self._publish()

    def draw(
        self,
        control: Control[T],
        place: Place | None = None,
        *,
        on_change: Callable[[], None] | None = None,
        **limits: Any,
    ) -> T:
        """Draw a control in `place`, or under "More controls", and return its value.

        `limits` narrow it for this run: `low`, `high` for numbers, `options` for a choice.
        """
        if self._by_key.get(control.key) is not control:
            raise ValueError(f"{control.key} is not among this page's controls: {list(self._by_key)}")
        control = control.narrow(**limits) if limits else control
        value_now = st.session_state.get(control.key, self._values[control.key])
        self._hold(control, control.fit(value_now), value_now)
        self._compare(control, value_now)
        listener = on_change and address.unless_late(control.key, on_change)
        value = control.fit(control.widget(here().more if place is None else place, listener))
        self._values[control.key] = value
        self._publish()
        return value

    def within(self, control: Control[T], **limits: Any) -> T:
        """Value within `limits` of a control that the page draws by itself."""
        value_now, narrow_control = self.value(control), control.narrow(**limits)
        value = narrow_control.fit(value_now)
        self._hold(control, value, value_now)
        self._compare(narrow_control, value_now)
        self._publish()
        return value

    def value(self, control: Control[T]) -> T:
        """Value of a control, drawn or not; of the last run if the session was emptied."""
        return control.fit(st.session_state.get(control.key, self._values.get(control.key)))

    def values(self) -> dict[str, Value]:
        return {key: self.value(control) for key, control in self._by_key.items()}

    def preset(self, **values: Value) -> None:
        """Set controls by key. For callbacks, which run before the page."""
        for key, value in values.items():
            self._check(key, value)
            self._values[key] = value
            address.set_widget(key, value)

    def _check(self, key: str, value: Value) -> None:
        control = self._by_key.get(key)
        if control is None:
            raise ValueError(f"{key!r} is not among this page's controls: {list(self._by_key)}")
        if not control.accepts(value):
            raise ValueError(f"{key} got {value!r} and needs {control.needs}")

    def reset(self) -> None:
        self.preset(**self._opening)

    def toolbar(self) -> None:
        """Draw "Share", "Present" and "Reset" in the sidebar; complaints on a link stand on the page."""
        row = st.sidebar.container(horizontal=True, key="toolbar", gap="medium")
        with row.popover("Share", type="tertiary", width="content"):
            st.caption("This page with these settings. The button at the right copies the link.")
            self._link = st.empty()
            st.caption("Its pictures, as they are on the screen. A card has the page's finding above it.")
            _save_pictures()(key="save_pictures")
        presenter.draw_switch(row)
        row.button(
            "Reset",
            key="toolbar_reset",
            type="tertiary",
            on_click=self.reset,
            help="Every control back to its default",
        )
        self._show_link()
        self._warning = here().warning.empty()
        self._complain()

    def _complain(self) -> None:
        if not self._complaints or self._warning is None:
            return
        more = len(self._complaints) - _COMPLAINTS_SHOWN
        self._warning.warning(
            f"Ignored from the link: {'; '.join(self._complaints[:_COMPLAINTS_SHOWN])}"
            + (f"; and {more} more" if more > 0 else "")
            + "."
        )

    def _compare(self, control: Control[Any], value_now: object) -> None:
        """Complain if the link's value is beyond this run's limits."""
        text = self._link_texts.pop(control.key, None)
        if text is None or control.accepts(value_now):
            return
        value_text = control.text(control.fit(value_now))
        link_text = quoted(f"{control.key}={text}")
        self._complaints.append(
            f"{link_text} ({control.key} needs {control.needs} here, and {value_text} is shown)"
        )
        self._complain()

    def _obey(self, reading: address.Reading, query: dict[str, list[str]]) -> list[str]:
        """Put the address's values into the session; returns complaints."""
        complaints = [f"{quoted(key)} is no control of this page" for key in query if key not in self._by_key]
        for key, control in self._by_key.items():
            texts = query.get(key, [])
            value = control.parse(texts[0]) if len(texts) == 1 else None
            if control.accepts(value):
                address.set_widget(key, value)
                self._link_texts[key] = texts[0]
            elif texts or reading is address.Reading.HISTORY:
                address.set_widget(key, control.default if query else self._opening[key])
            if len(texts) > 1:
                complaints.append(f"{quoted(key)} is given {len(texts)} times")
            elif texts and not control.accepts(value):
                complaints.append(f"{quoted(f'{key}={texts[0]}')} ({key} needs {control.needs})")
        return complaints

    def _hold(self, control: Control[Any], value: Value, value_now: object) -> None:
        """Set the session to `value` unless it has an equal one, which a widget in use owns."""
        self._values[control.key] = value
        if type(value_now) is not type(value) or value_now != value:
            address.set_widget(control.key, value)

    def _parameters(self) -> dict[str, str]:
        """Controls that differ from the page's opening, for the address."""
        values = self._values
        if values == self._opening:
            return {}
        keys = [key for key, control in self._by_key.items() if values[key] != control.default]
        keys = keys or [key for key in values if values[key] != self._opening[key]]
        return {key: self._by_key[key].text(values[key]) for key in keys}

    def _publish(self) -> None:
        if self._values == self._address_values:
            return
        self._address_values = dict(self._values)
        if address.write(self._parameters()):
            self._show_link()

    def _show_link(self) -> None:
        if self._link is not None:
            self._link.code(address.link(self._parameters()), language=None, wrap_lines=True)
