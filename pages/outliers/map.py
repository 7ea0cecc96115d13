"""Section "Error map": where on the tensor does each recipe lose?"""

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fp8core.tiles import WHOLE
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS, Ink
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.words import stored_tile
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here
from pages.outliers.charts.map import map_chart
from pages.outliers.data import FACTOR, SHADES, Measured, operand_of_key, tensor_of
from pages.outliers.subject import Subject, db, percent, quantized

FIGURES = "numbers outside the outlier\nchannels that become 0", "become 0 outside outlier channels"
FIGURES_OF_ALL = "numbers\nthat become 0", "become 0"
# Pixels of a chart beside its marks.
AROUND = 8


def show(controls: Controls) -> None:
    if (answer := quantized(controls, here().control)) is None:
        return
    subject, parts = answer
    measured = {key: part for key, part in parts.items() if part is not None}
    draw_notice(notice(subject, measured))
    first, titles = next(iter(measured.values())), subject.titles
    draw_chart(
        map_chart(
            [_row(subject, key, part) for key, part in parts.items()],
            first.columns,
            first.largest.tolist(),
            first.outliers.tolist(),
            *(FIGURES if first.has_outliers else FIGURES_OF_ALL),
            room() - AROUND,
            INKS[theme()],
        ),
        key="outliers_map",
        is_rigid=True,
        alt="; ".join(f"{titles[key]}: {percent(part.zeros)} become 0" for key, part in measured.items()),
    )
    rows, columns = subject.source.shape
    here().know.markdown(
        f"The maps show {len(first.rows)} rows and {len(first.columns)} columns around the largest "
        f"number, of {rows:,} × {columns:,}. The figures count the whole tensor. The darker an element, the "
        "larger its error |e| / |x|. A channel is an outlier where its rms is more than "
        f"{FACTOR:g} times the median one. SQNR of the whole tensor, 10 · log10(‖x‖² / ‖e‖²): "
        + ", ".join(f"{titles[key]} {db(part.error.sqnr_db)}" for key, part in measured.items())
        + (". The outliers hold most of ‖x‖², so SQNR is almost theirs alone." if first.has_outliers else ".")
    )


def _row(subject: Subject, key: str, part: Measured | None) -> dict[str, Any]:
    mark = mark_of(key)
    row = {"name": subject.titles[key], "shape": mark.shape, "color": mark.color}
    if part is None:
        words = {"bits": 16, "about": "stays bf16 here", "brief": "stays bf16"}
        return row | words | {"url": "", "zeros": 0.0, "figure": "", "tile": 0}
    operand = operand_of_key(key, subject.role)
    element, tile = operand.spec.format, stored_tile(tensor_of(subject.role), *operand.tile)
    return row | {
        "bits": element.bits,
        "about": f"{element.name}, {tile}",
        "brief": f"{element.name}, {'one scale' if operand.tile == (WHOLE, WHOLE) else tile}",
        "url": painted(part.levels, INKS[theme()]),
        "zeros": part.zeros,
        "figure": percent(part.zeros),
        "tile": part.tile[1],
    }


def painted(levels: NDArray[np.uint8], ink: Ink) -> str:
    """A picture of levels, from the page's color to gray; what became zero has the color of what is lost."""
    low, high, lost = (
        np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)])
        for color in (ink.panel, ink.mid, ink.lost)
    )
    shades = low + (high - low) * np.linspace(0, 1, SHADES + 1)[:, None]
    picture = Image.fromarray(levels)
    picture.putpalette(np.vstack([shades, lost]).round().astype(np.uint8).tobytes())
    file = io.BytesIO()
    picture.save(file, "PNG", compress_level=1)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")


def notice(subject: Subject, parts: dict[str, Measured]) -> str:
    most, least = (pick(parts, key=lambda key: parts[key].zeros) for pick in (max, min))
    if not parts[most].zeros:
        return "**0 numbers** become 0 under these recipes."
    beside = "Outside the outlier channels" if parts[most].has_outliers else "No channel is an outlier:"
    worst = f"{beside} **{percent(parts[most].zeros)} become 0 under {subject.titles[most]}.**"
    if most == least:
        return worst
    return f"{worst} {subject.titles[least]} loses the fewest: {percent(parts[least].zeros)}."
