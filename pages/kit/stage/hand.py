"""A gold handle in a chart, in place of the chart's slider."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pages.kit.charts.parts import RAIL, marks_of
from pages.kit.stage.stage import Stage

_HAND = Stage("hand", Path(__file__).with_suffix(".js"))


@dataclass(frozen=True, kw_only=True)
class Hand:
    """A handle on a chart's rail (`pages.kit.charts.parts`). `way`: "across", "up" or "both".

    `play`: label of a play button, if any. `grips`: further panels or marks to drag, each with a rail of the
    same positions. `notices`: the page's Notice at each position.
    """

    label: str
    way: str = "across"
    play: str = ""
    rail: str = RAIL
    grips: tuple[tuple[str, str], ...] = ()
    notices: Mapping[float, str] = field(default_factory=dict)

    def mount(
        self, key: str, *, at: float | None = None, on_change: Callable[[float], None] | None = None
    ) -> None:
        """Lay the handle over the chart in this container, whose key begins with `slid_`.

        Over a chart without a slider it stands `at` a position, and `on_change` gets each new one before a
        run.
        """

        def take(move: dict[str, Any]) -> None:
            if on_change is not None and isinstance(position := move.get("at"), int | float):
                on_change(position)

        grips = [[marks_of(name), marks_of(rail)] for name, rail in self.grips]
        way = {
            "grips": grips,
            "notices": {f"{position:g}": words for position, words in self.notices.items()},
            "rail": marks_of(self.rail),
            "label": self.label,
            "way": self.way,
            "play": self.play,
        }
        _HAND.mount({**way, "at": at}, key=key, on_change=take)
