"""Section "Error map": where on the tensor does each recipe lose?"""

import base64
import io
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fp8core.inputs import InputKind
from fp8core.tiles import WHOLE
from pages.kit.chart_slider import Hand, chart_with_slider, with_slider
from pages.kit.charts.ink import Ink
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Filled
from pages.kit.charts.words import stored_tile
from pages.kit.controls import Controls
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room, stage
from pages.outliers import codes
from pages.outliers.charts.map import APART, HAND, Stops, map_chart
from pages.outliers.controls import DATA, EVERY, FACTOR, FACTORS, NUMBERS
from pages.outliers.data import FACTOR as OUTLIER
from pages.outliers.data import SHADES, Codes, ErrorMap, operand_of_key, tensor_of
from pages.outliers.subject import Subject, db, error_maps, percent

FIGURES = "numbers outside the outlier\nchannels that become 0", "become 0 outside outlier channels"
FIGURES_OF_ALL = "numbers\nthat become 0", "become 0"
AROUND = 8  # pixels of a chart beside its marks


def show(controls: Controls) -> None:
    view = here()
    if controls.value(DATA) == InputKind.OUTLIER_CHANNELS.value:
        for factor in FACTORS:
            label, settings = FACTOR.options[factor], {FACTOR.key: factor}
            view.control.button(label, on_click=controls.preset, kwargs=settings)
    if (answer := error_maps(controls, view.control)) is None:
        return
    subject, maps = answer
    draw_notice(notice(subject, maps))
    first, titles = next(iter(maps.values())), subject.titles
    at = codes.place_of(controls, subject)
    run = at and codes.read(subject, at)
    height, place = room() - AROUND - (codes.TALL if run else 0), stage()
    if _outlier_channels(subject, first):
        both = chart_with_slider(
            controls,
            FACTOR,
            name="outliers_map",
            # A hand changes the data alone, so the browser keeps the picture.
            inputs=(
                replace(subject, source=replace(subject.source, factor=1.0, every=1)),
                page_ink(),
                height,
            ),
            at=controls.value(FACTOR),
            spec_at=lambda start: with_slider(
                picture(subject, maps, height, page_ink(), run, has_hand=True), HAND, start
            ),
            alt_at=lambda _: (
                f"Error maps of {', '.join(titles.values())} below the largest number of each channel."
            ),
            hand=Hand(label="How much larger the outliers are", way="up"),
            around=place,
        )

        def pull(at: float) -> None:
            controls.preset(**{EVERY.key: int(at)})

        with both:
            hand, every = Hand(label=EVERY.label, rail=APART), controls.value(EVERY)
            hand.mount("hand_outliers_every", at=every, on_change=pull)
    else:
        draw_chart(
            picture(subject, maps, height, page_ink(), run),
            key="outliers_map",
            place=place,
            alt="; ".join(f"{titles[key]}: {percent(part.zeros)} become 0" for key, part in maps.items()),
        )
    with place:
        codes.hear_clicks(controls, subject, maps)
        if run:
            codes.draw(controls, subject, *run)
    controls.draw(NUMBERS)
    view.know.markdown(_rules(subject, maps))


def _rules(subject: Subject, maps: Mapping[str, ErrorMap]) -> str:
    first, (rows, columns) = next(iter(maps.values())), subject.source.shape
    every = ", ".join(f"{subject.titles[key]} {db(part.error.sqnr_db)}" for key, part in maps.items())
    return (
        f"The maps show {len(first.rows)} rows and {len(first.columns)} columns around the largest "
        f"number, of {rows:,} × {columns:,}. The figures count the whole tensor. The darker an element, the "
        "larger its error |e| / |x|. A channel is an outlier where its rms is more than "
        f"{OUTLIER:g} times the median one. SQNR of the whole tensor, 10 · log10(‖x‖² / ‖e‖²): {every}."
        + " The outliers hold most of ‖x‖², so SQNR is almost theirs alone."
        * first.has_outliers
    )


def picture(
    subject: Subject,
    maps: Mapping[str, ErrorMap],
    height: int,
    ink: Ink,
    run: tuple[str, Codes] | None = None,
    *,
    has_hand: bool = False,
) -> Filled:
    """The maps, with a line around a `run` of one, and perhaps a handle on the outliers."""
    first = next(iter(maps.values()))
    stops = Stops(
        channels=_outlier_channels(subject, first),
        factor=subject.source.factor,
        factors=list(FACTOR.options),
        every=subject.source.every,
        distances=list(EVERY.options),
    )
    return map_chart(
        [
            _row(subject, key, part, ink) | (_outline(part, run[1]) if part and run and run[0] == key else {})
            for key in subject.keys
            for part in [maps.get(key)]
        ],
        first.columns,
        first.largest.tolist(),
        first.outliers.tolist(),
        *(FIGURES if first.has_outliers else FIGURES_OF_ALL),
        height,
        ink,
        stops if has_hand else None,
    )


def _outlier_channels(subject: Subject, part: ErrorMap) -> list[int]:
    return [channel for channel in subject.source.outlier_channels if channel in part.columns]


def _row(subject: Subject, key: str, part: ErrorMap | None, ink: Ink) -> dict[str, Any]:
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
        "url": png(part.levels, ink),
        "zeros": part.zeros,
        "figure": percent(part.zeros),
        "tile": part.tile[1],
    }


def _outline(part: ErrorMap, run: Codes) -> dict[str, dict[str, float]]:
    """A run on this map: its columns, and its rows as shares of the map."""
    if run.rows.start not in part.rows:
        return {}
    first, last = ((at - part.rows.start) / len(part.rows) for at in (run.rows.start, run.rows.stop))
    start, stop = (at - part.columns.start for at in (run.columns.start, run.columns.stop))
    return {"picked": {"from": start, "to": stop, "first": first, "last": last}}


def png(levels: NDArray[np.uint8], ink: Ink) -> str:
    """Levels from the page's color to gray; zeros have the color of losses."""
    low, high, loss = (
        np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)])
        for color in (ink.panel, ink.mid, ink.lost)
    )
    shades = low + (high - low) * np.linspace(0, 1, SHADES + 1)[:, None]
    picture = Image.fromarray(levels)
    picture.putpalette(np.vstack([shades, loss]).round().astype(np.uint8).tobytes())
    file = io.BytesIO()
    picture.save(file, "PNG", compress_level=1)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")


def notice(subject: Subject, parts: dict[str, ErrorMap]) -> str:
    most, least = (pick(parts, key=lambda key: parts[key].zeros) for pick in (max, min))
    if not parts[most].zeros:
        return "**0 numbers** become 0 under these recipes."
    beside = "Outside the outlier channels" if parts[most].has_outliers else "No channel is an outlier:"
    worst = f"{beside} **{percent(parts[most].zeros)} become 0 under {subject.titles[most]}.**"
    if most == least:
        return worst
    return f"{worst} {subject.titles[least]} loses the fewest: {percent(parts[least].zeros)}."
