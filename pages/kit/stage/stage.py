"""Pictures that a hand moves: Python computes the numbers, a module of JavaScript draws them.

    COINS = Stage("coins", folder / "coins.js")            # coins.css lies beside it
    COINS.draw({"frames": floats(array)}, key="hand_coins", on_change=take)

A module exports `stage(root, data, send)`, which returns `{update(data, isOld), end()}`. It may import this
folder's modules. `send(state)` calls `on_change` with a dict. Data are old if Python had not yet heard of the
last move.
"""

import base64
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import ArrayLike

from pages.kit.charts.ink import DARK, LIGHT
from pages.kit.view import stage

_HERE = Path(__file__).parent
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
HTML = '<div class="stage"></div>'
_MOUNT = """
const mounted = new WeakMap();
let sends = Date.now();
function mount(root, first, setStateValue) {
  let awaited = 0;
  // Numbered, so that each move reaches Python: it may hold an older value of a field that shows the same.
  const { update, end } = stage(root, first, (state) => {
    awaited = sends += 1;
    setStateValue("move", { ...state, number: awaited });
  });
  return {
    update(data) {
      if (data.heard >= awaited) awaited = 0;
      update(data, awaited > 0);
    },
    end,
  };
}
export default function ({ parentElement, data, setStateValue }) {
  const root = parentElement.querySelector(".stage");
  if (mounted.has(root)) mounted.get(root).update(data);
  else mounted.set(root, mount(root, data, setStateValue));
  return () => {
    // Streamlit also cleans up after data that newer data have overtaken: the stage stays on the page.
    if (root.isConnected) return;
    mounted.get(root)?.end();
    mounted.delete(root);
  };
}
"""


def floats(x: ArrayLike) -> str:
    """Encode float32 in base64, for `floats` of `svg.js`."""
    return base64.b64encode(np.ascontiguousarray(x, dtype="<f4").tobytes()).decode("ascii")


def bundle(module: Path) -> str:
    """Join a module and its imports from this folder into one script."""
    order: list[Path] = []

    def visit(path: Path) -> None:
        for name in _IMPORT.findall(path.read_text(encoding="utf-8")):
            visit(_HERE / f"{name}.js")
        if path not in order:
            order.append(path)

    visit(module)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", path.read_text(encoding="utf-8"))) for path in order)


def colors() -> str:
    pairs = (
        f"--{name.replace('_', '-')}: light-dark({color}, {getattr(DARK, name)});"
        for name, color in vars(LIGHT).items()
        if isinstance(color, str)
    )
    ramp = (
        f"--ramp-{i}: light-dark({', '.join(shades)});"
        for i, shades in enumerate(zip(LIGHT.ramp, DARK.ramp, strict=True))
    )
    return f":host {{ {' '.join([*pairs, *ramp])} }}\n"


class Stage:
    """A picture that a hand moves. Make one a module, once."""

    def __init__(self, name: str, module: Path) -> None:
        self.name, self.module = name, module

    @cached_property
    def _component(self) -> Callable[..., Any]:
        css = (
            colors()
            + (_HERE / "stage.css").read_text("utf-8")
            + self.module.with_suffix(".css").read_text("utf-8")
        )
        return st.components.v2.component(self.name, html=HTML, css=css, js=self.script)

    @property
    def script(self) -> str:
        return bundle(self.module) + _MOUNT

    def draw(self, data: Mapping[str, Any], *, key: str, on_change: Callable[[dict[str, Any]], None]) -> None:
        """Draw the stage as the page's picture. `on_change` gets the hand's state before a run."""
        with stage():
            self.mount(data, key=key, on_change=on_change)

    def mount(
        self, data: Mapping[str, Any], *, key: str, on_change: Callable[[dict[str, Any]], None]
    ) -> None:
        def last_move() -> dict[str, Any]:
            state = st.session_state.get(key) or {}
            return move if isinstance(move := state.get("move"), dict) else {}

        def take() -> None:
            if move := last_move():
                on_change(move)

        heard = last_move().get("number", 0)
        self._component(key=key, data={**data, "heard": heard}, on_move_change=take)
