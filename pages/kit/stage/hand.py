"""A gold handle in a chart, which takes the place of the chart's slider."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pages.kit.charts.hand import MARKS
from pages.kit.stage.stage import Stage

_FOLDER = Path(__file__).parent
_HAND = Stage("hand", _FOLDER / "hand.js", _FOLDER / "hand.css")


@dataclass(frozen=True, kw_only=True)
class Hand:
    """A handle on a chart's rail (`pages.kit.charts.hand`). `way`: "across", "up" or "both".

    `play`: what a button beside the rail's beginning plays; none without it.
    """

    label: str
    way: str = "across"
    play: str = ""

    def mount(
        self, key: str, *, at: float | None = None, on_change: Callable[[float], None] | None = None
    ) -> None:
        """Lay the handle over the chart that was drawn in this container, whose key begins with `slid_`.

        Over a chart without a slider it stands `at` a position, and `on_change` gets each new one before a
        run.
        """

        def take(move: dict[str, Any]) -> None:
            if on_change is not None and isinstance(position := move.get("at"), int | float):
                on_change(position)

        data = {"rail": MARKS, "label": self.label, "way": self.way, "at": at, "play": self.play}
        _HAND.mount(data, key=key, on_change=take)
