"""Pictures in two versions each; a hand pulls the line between them across."""

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pages.kit.controls import Controls
from pages.kit.stage.stage import Stage
from pages.kit.view import stage
from pages.kit.widgets import Place
from pages.stochastic_rounding.controls import COLUMN, ROW, STROKES, WIPE

_WIPE = Stage("wipe", Path(__file__).parent / "stage" / "wipe.js")
_CONTROLS = {"share": WIPE, "row": ROW, "column": COLUMN, "strokes": STROKES}


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A picture: addresses of its left and its right version, and the words around it.

    `title` and `words` stand at the left, above and below; `other` and `others` at the right. `lost`: the
    words name a loss. `below` is the address of a picture under it, with the words `under`.
    """

    left: str
    right: str
    title: str
    words: str
    other: str = ""
    others: str = ""
    lost: bool = False
    below: str = ""
    under: str = ""


def image_address(pixels: NDArray[np.uint8]) -> str:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=1)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"


def pixel_of(controls: Controls, shape: tuple[int, int]) -> tuple[int, int]:
    return tuple(min(controls.draw(one), size - 1) for one, size in zip((ROW, COLUMN), shape, strict=True))


def draw_wipe(
    controls: Controls,
    panels: Sequence[Panel],
    shape: tuple[int, int],
    pixel: tuple[int, int],
    names: tuple[str, str],
    place: Place | None = None,
    **words: Any,
) -> None:
    """Draw pictures of one `shape`; `words` are further fields for `wipe.js`."""

    def take(move: Mapping[str, Any]) -> None:
        values = {control: move.get(name) for name, control in _CONTROLS.items()}
        controls.preset(**{control.key: value for control, value in values.items() if control.accepts(value)})

    with stage() if place is None else place:
        _WIPE.mount(
            {
                "rows": shape[0],
                "columns": shape[1],
                "at": {
                    "share": controls.draw(WIPE),
                    "row": pixel[0],
                    "column": pixel[1],
                    "strokes": controls.within(STROKES),
                },
                "names": names,
                "label": f"The line between {names[0]} and {names[1]}",
                "panels": [asdict(panel) for panel in panels],
                **words,
            },
            key="hand_wipe",
            on_change=take,
        )
