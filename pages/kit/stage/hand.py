"""A gold handle in a chart, which takes the place of the chart's slider."""

from dataclasses import dataclass
from pathlib import Path

from pages.kit.charts.hand import MARKS
from pages.kit.stage.stage import Stage

_FOLDER = Path(__file__).parent
_HAND = Stage("hand", _FOLDER / "hand.js", _FOLDER / "hand.css")


@dataclass(frozen=True, kw_only=True)
class Hand:
    """A handle on a chart's rail (`pages.kit.charts.hand`). `way`: "across" or "up", where it can go."""

    label: str
    way: str = "across"

    def mount(self, key: str) -> None:
        """Lay the handle over the chart that was drawn in this container."""
        _HAND.mount({"rail": MARKS, "label": self.label, "way": self.way}, key=key)
