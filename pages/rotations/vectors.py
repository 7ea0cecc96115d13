"""Section "One vector": entries before a rotation and after it."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp8core.quantize import quantized_values
from fp8core.rotations import RotationKind
from fp8core.tiles import WHOLE, TileGrid
from pages.kit.chart_slider import Hand, chart_with_slider, with_slider
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, arrow
from pages.kit.controls import Controls
from pages.kit.view import draw_notice, here, page_ink, room
from pages.rotations.charts.vectors import ENTRIES, OUTLIER, POSITIONS, vector_picture
from pages.rotations.controls import MAGNITUDE, draw_cases, draw_rotation
from pages.rotations.facts import FEW, RESULTS, Setting, change, errors_at, of_format, setting_of

LOWEST, HIGHEST = 2.0**-6, 2.0**-3  # limits of the axis' start
_HEADROOM = 1.3  # the axis' end over the largest number
_STEPS = MAGNITUDE.high - MAGNITUDE.low + 1
# Pixels of a chart beside its marks.
_AROUND = 8


def picture(setting: Setting, start: int, ink: Ink, height: int) -> Filled:
    data, ends = panels_of(setting)
    limits, spec = (MAGNITUDE.low, MAGNITUDE.high), setting.spec()
    chart = vector_picture(data, words(setting), spec, setting.size, limits, ends, height, ink)
    return with_slider(chart, OUTLIER, start)


@lru_cache(maxsize=RESULTS)
def panels_of(setting: Setting) -> tuple[dict[str, bytes], tuple[float, float]]:
    """The picture's datasets, and the ends of its axis."""
    frames, number = setting.one(), np.arange(setting.size, dtype=np.int32)
    rest, slope = np.stack([frame.linear[:, 0] for frame in frames], axis=1)
    is_outlier = frames[0].vectors.is_outlier[0]
    entries = {
        "panel": np.repeat([0, 1], setting.size),
        "i": np.tile(number, 2),
        "tile": np.tile(number // (setting.spec().tile.k or setting.size), 2),
        "rest": rest.ravel(),
        "slope": slope.ravel(),
        # After a rotation, no entry is an outlier by itself.
        "outlier": np.concatenate([is_outlier, np.zeros_like(is_outlier)]),
    }
    sizes = np.abs(rest[0][rest[0] != 0])
    low = float(np.exp2(np.floor(np.log2(np.quantile(sizes, 0.05))))) if sizes.size else LOWEST
    places = positions(setting)
    data = {
        ENTRIES: arrow(entries),
        POSITIONS: arrow(places | {"i": np.full(2 * _STEPS, is_outlier.argmax())}),
    }
    return data, (min(max(low, LOWEST), HIGHEST), _HEADROOM * float(places["largest"].max()))


def positions(setting: Setting) -> dict[str, NDArray[Any]]:
    """The figures of both panels at each magnitude `at`."""
    spec, size = setting.spec(), setting.size
    magnitudes = np.arange(MAGNITUDE.low, MAGNITUDE.high + 1)
    columns: dict[str, list[NDArray[Any]]] = {"zeros": [], "largest": [], "edge": []}
    for frame in setting.one():
        rest, slope = frame.linear[:, 0]
        numbers = (rest + magnitudes[:, None] * slope).astype(np.float32)
        grid = TileGrid.over(numbers.shape, (spec.tile.mn, spec.tile.k))
        values, scale = quantized_values(numbers, grid, spec)
        columns["zeros"].append(size - np.count_nonzero(values, axis=1))
        columns["largest"].append(np.abs(numbers).max(axis=1).astype(np.float64))
        columns["edge"].append(scale.reshape(_STEPS, -1)[:, -1] * spec.format.max)
    length = np.sqrt((rest**2).sum() + 2 * magnitudes * (rest @ slope) + magnitudes**2 * (slope**2).sum())
    both = {name: np.concatenate(parts) for name, parts in columns.items()}
    others = {f"other_{name}": np.concatenate(columns[name][::-1]) for name in ("zeros", "largest")}
    of_magnitude = {"at": magnitudes, "length": length, "share": magnitudes / math.sqrt(size)}
    return (
        both
        | others
        | {name: np.tile(x, 2) for name, x in of_magnitude.items()}
        | {"panel": np.repeat([0, 1], _STEPS)}
    )


@lru_cache(maxsize=FEW)
def notices(setting: Setting) -> dict[float, str]:
    places = positions(setting)
    at, zeros = places["at"], places["zeros"]
    words = {}
    for magnitude, before, after in zip(at[:_STEPS], zeros[:_STEPS], zeros[_STEPS:], strict=True):
        lost = f"{before:,} of {setting.size:,} numbers become" if before else "no number becomes"
        rest = f"{f'{after:,}' if after else 'none'} {'does' if after < 2 else 'do'}"
        words[int(magnitude)] = (
            f"The outlier sets the scale, and **{lost} 0** in {setting.format}. Rotated, {rest}."
        )
    return words


def words(setting: Setting) -> dict[str, str]:
    """Vega expressions for the words of a panel, with the columns of `positions`."""
    name, size, tile = setting.format, f"{setting.size:,}", setting.spec().tile.k
    one, of = ("one", "it") if setting.outliers == 1 else (str(setting.outliers), "one outlier")
    is_equal = RotationKind[setting.rotation.upper()] is not RotationKind.ORTHOGONAL
    how = "±" if is_equal else "on average"
    has_one = tile is WHOLE or tile >= setting.size
    return {
        "head": f"datum.panel ? datum.at + ' ÷ √{size} = ' + format(datum.share, '.3~r') + "
        f"' of {of} in each, {how}' : '{size} numbers, {one} of them ' + datum.at",
        "big": f"datum.zeros ? format(datum.zeros, ',') + ' of {size}' : 'None'",
        "small": f"(datum.zeros > 1 ? 'become' : 'becomes') + ' 0 in {name}'",
        "window": f"'The window of {name}'" if has_one else f"'A window for each {tile} numbers'",
        "follows": f"'{'follows' if has_one else 'follow'} the largest number:'",
        "moves": "format(datum.other_largest, '.3~r') + ' → ' + format(datum.largest, '.3~r')",
        "length": "'the length stays ' + format(datum.length, '.3~r') + '.'",
        "words": f"datum.at + ': ' + datum.zeros + ' of {size} become 0, rotated ' + datum.other_zeros",
    }


def show(controls: Controls) -> None:
    draw_cases(controls)
    draw_rotation(controls)
    setting, magnitude = setting_of(controls.value), controls.value(MAGNITUDE)
    by_magnitude = notices(setting)
    draw_notice(by_magnitude[magnitude])
    height = room() - _AROUND
    chart_with_slider(
        controls,
        MAGNITUDE,
        name="rotations_vector",
        inputs=(setting, page_ink(), height),
        at=magnitude,
        spec_at=lambda start: picture(setting, start, page_ink(), height),
        # Another text would make the browser build the picture anew: it has nothing that a drag changes.
        alt_at=lambda _: (
            f"{setting.size} numbers over a logarithmic axis, before and after the rotation, in the window "
            f"of {setting.format}. What lies below a window becomes 0."
        ),
        hand=Hand(label="The outlier's magnitude", way="up", notices=by_magnitude),
    )
    without, rotated = (of_format(error.nmse) for error in errors_at(setting, magnitude))
    here().know.markdown(
        f"Over {setting.many:,} such vectors, quantization to {setting.format} loses {without:.3g} of the "
        f"energy without the rotation and {rotated:.3g} with it. The error is {change(without, rotated)}. "
        "Both panels have one axis. Blue: from the largest value of the format, times the tile's scale, down "
        f"to what rounds to zero: at most half its smallest value, {setting.spec().format.min_subnormal:g}, "
        "times the scale. The paler part has fewer bits. A number smaller than the axis lies at its foot."
    )
