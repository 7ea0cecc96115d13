"""Section "Error map": where on the tensor does each recipe lose?"""

import base64
import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fp8core.linear import LayerTensor
from fp8core.tiles import WHOLE
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS, Ink
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.words import span, stored_tile
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here
from pages.kit.widgets import Place
from pages.outliers import chosen
from pages.outliers.charts.map import Row, map_chart
from pages.outliers.chosen import Asked
from pages.outliers.measures import (
    FACTOR,
    SHADES,
    Measured,
    Region,
    measured,
    operand_of_key,
    role_of,
)
from pages.outliers.words import BF16, db, percent

FIGURES = "numbers outside the outlier\nchannels that become 0", "become 0 outside outlier channels"
FIGURES_OF_ALL = "numbers\nthat become 0", "become 0"
AROUND = 8
"""Pixels of a chart beside its marks."""


def asked_and_found(
    controls: Controls, place: Place | None = None
) -> tuple[Asked, dict[str, Measured | None]] | None:
    """Draw the common controls. Returns what was asked, and what came of it by recipe, if anything has."""
    source = chosen.source(controls, place=place)
    asked = Asked(keys=chosen.recipes(controls), role=chosen.role(controls), source=source)
    calls = [Call(measured, (key, asked.role, asked.source)) for key in asked.keys]
    shown = computed("outliers_measured", asked, calls, doing="Quantizing")
    return shown and (shown.asked, dict(zip(shown.asked.keys, shown.parts, strict=True)))


def show(controls: Controls) -> None:
    """Draw a map for each recipe, one below the other."""
    found = asked_and_found(controls, here().control)
    if found is None:
        return
    asked, parts = found
    there = {key: part for key, part in parts.items() if part is not None}
    if not there:
        draw_notice(f"Every chosen recipe {BF16}.")
        return
    draw_notice(notice(asked, there))
    first = next(iter(there.values()))
    draw_chart(
        map_chart(
            [_row(asked, key, part) for key, part in parts.items()],
            first.map.columns,
            first.map.largest.tolist(),
            first.map.outliers.tolist(),
            *(FIGURES if first.has_outliers else FIGURES_OF_ALL),
            room() - AROUND,
            INKS[theme()],
        ),
        key="outliers_map",
        is_rigid=True,
        alt="; ".join(f"{asked.titles[key]}: {percent(part.zeros)} become 0" for key, part in there.items()),
    )
    rows, columns = asked.shape
    here().know.markdown(
        f"The maps show {len(first.map.rows)} rows and {len(first.map.columns)} columns around the largest "
        f"number, of {rows:,} × {columns:,}. The figures count the whole tensor. The darker an element, the "
        "larger its error |e| / |x|. A channel is an outlier where its rms is more than "
        f"{FACTOR:g} times the median one. SQNR of the whole tensor, 10 · log10(‖x‖² / ‖e‖²): "
        + ", ".join(f"{asked.titles[key]} {db(part.error.sqnr_db)}" for key, part in there.items())
        + ". The outliers hold most of ‖x‖², so SQNR is almost theirs alone."
    )


def _row(asked: Asked, key: str, part: Measured | None) -> Row:
    common = {"name": asked.titles[key], "mark": mark_of(key)}
    if part is None:
        words = {"bits": 16, "about": "stays bf16 here", "brief": "stays bf16"}
        return Row(**common, **words, url="", zeros=0.0, told="", tile=0, regions=())
    operand = operand_of_key(key, asked.role)
    element, tile = operand.spec.format, stored_tile(tensor_of(asked.role), *operand.tile)
    return Row(
        **common,
        bits=element.bits,
        about=f"{element.name}, {tile}",
        brief=f"{element.name}, {'one scale' if operand.tile == (WHOLE, WHOLE) else tile}",
        url=painted(part.map.levels, INKS[theme()]),
        zeros=part.zeros,
        told=percent(part.zeros),
        tile=part.map.tile[1],
        regions=_regions(part.map.regions, part.map.rows),
    )


def painted(levels: NDArray[np.uint8], ink: Ink) -> str:
    """A picture of levels, from the page's color to gray; what became zero has the color of what is lost."""
    low, high, lost = (
        np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)])
        for color in (ink.panel, ink.mid, ink.lost)
    )
    shades = low + (high - low) * np.linspace(0, 1, SHADES + 1)[:, None]
    picture = Image.fromarray(levels)
    picture.putpalette(np.vstack([shades, lost]).round().astype(np.uint8).tobytes())
    held = io.BytesIO()
    picture.save(held, "PNG", compress_level=1)
    return "data:image/png;base64," + base64.b64encode(held.getvalue()).decode("ascii")


def _regions(regions: Sequence[Region], rows: range) -> list[dict[str, object]]:
    return [
        {
            "where": f"rows {span(r.rows)}, columns {span(r.columns)}",
            "column0": r.columns.start,
            "column1": r.columns.stop,
            "down0": (r.rows.start - rows.start) / len(rows),
            "down1": (r.rows.stop - rows.start) / len(rows),
            "error": r.error,
            "zeros": r.zeros,
        }
        for r in regions
    ]


def tensor_of(role: str) -> LayerTensor:
    """The stored tensor that a role reads."""
    matmul, side = role_of(role)
    return matmul.operand(side)


def notice(asked: Asked, there: dict[str, Measured]) -> str:
    """The recipes under which most and fewest of the numbers beside the outliers become zero."""
    most, least = (pick(there, key=lambda key: there[key].zeros) for pick in (max, min))
    if not there[most].zeros:
        return "**0 numbers** become 0 under these recipes."
    beside = "Outside the outlier channels" if there[most].has_outliers else "No channel is an outlier:"
    told = f"{beside} **{percent(there[most].zeros)} become 0 under {asked.titles[most]}.**"
    if most == least:
        return told
    return f"{told} {asked.titles[least]} loses the fewest: {percent(there[least].zeros)}."
