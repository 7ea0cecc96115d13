"""Section "One row": a row of A, a window for each of its tiles, and its sum."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp8core.linear import MATMULS, LayerShape, Side
from pages.kit.charts.words import short, tile
from pages.kit.controls import Controls
from pages.kit.shared_controls import INPUT, MATMUL, SEED, draw_recipe, draw_source
from pages.kit.stage.window import HANDLE, HIGH, PER_POWER, STEPS, WINDOW, frames, span
from pages.kit.view import draw_notice, here, room
from pages.tile_layouts.charts.scene import CornerOperand, Scene
from pages.tile_layouts.facts import COLUMN, NUMBER, PULL, ROW, STRETCH
from pages.tile_layouts.matmul import cases, output_stretches

KNOW = (
    "The points are the numbers that are rounded: of a rotated operand, those after the rotation, and the "
    "gold one stands where it is before. Exact products are of these numbers, rounded ones of codes times "
    "scales; both are added exactly. The gold number's own product is left out, since it would hide all "
    "others. A rotation spreads the number: then nothing is left out."
)
_BELOW = 0.01  # the share of a row's numbers below the axis
_MOST = 40
_BEYOND = 5  # powers of two above the window of the largest number, to pull a number to


def show(controls: Controls, layer: LayerShape) -> None:
    view = here()
    recipe = draw_recipe(controls, view.control)
    matmul = MATMULS[controls.draw(MATMUL, view.control)]
    own = cases(recipe, matmul, controls.value(INPUT), controls.value(SEED), layer)[0]
    m, n, k = own.mnk
    stops = [0, *(part.stop for part in output_stretches(own))]
    tops = {ROW: m - 1, COLUMN: n - 1, STRETCH: len(stops) - 1, NUMBER: k - 1}
    row, column, stretch, index = (
        controls.draw(one, high=top) if top > one.low else one.low for one, top in tops.items()
    )
    stretch, step = stretch or tops[STRETCH], controls.draw(PULL)
    scene = pull(own, row, index, step)
    draw_notice(notice(scene, own, row, index, step))

    def take(move: dict[str, Any]) -> None:
        values = {NUMBER: move.get("index"), PULL: move.get("step"), STRETCH: move.get("k")}
        if isinstance(values[PULL], int):
            values[PULL] += int(STEPS[0])
        if values[STRETCH] == tops[STRETCH]:
            values[STRETCH] = STRETCH.default
        controls.preset(**{one.key: value for one, value in values.items() if one.accepts(value)})

    format_ = scene.a.format
    sizes = _sizes(scene, own, row, index)
    # The axis stays where it is while a number is pulled.
    at_first = _powers(own.along_k(Side.A, own.a.x, row))
    top = math.ceil(at_first.max() + min(HIGH, span(format_) + _BEYOND))
    WINDOW.draw(
        {
            "frames": _frames(scene, row, column, index),
            "rows": 1,
            "k": k,
            "windows": windows(scene),
            "sizes": sizes.round(4).tolist(),
            "at": {"index": index, "step": int(step - STEPS[0]), "k": stretch},
            "stops": stops,
            "lowest": 1,
            "top": top,
            "tall": min(_MOST, math.ceil(top - np.quantile(at_first, _BELOW)) + 1),
            "layout": format_.layout(0),
            "height": room(),
            "names": [f"D[{row}, {column}], the others"],
            "words": _words(scene, row, column),
            **HANDLE,
        },
        key="hand_row",
        on_change=take,
    )
    view.know.markdown(KNOW)
    draw_source(recipe)


def pull(own: Scene, row: int, index: int, step: int) -> Scene:
    """The matmul with number `index` of a row of A 2^(step / PER_POWER) times as large."""
    if not step:
        return own
    corner = own.a.corner.copy()
    own.along_k(Side.A, corner, row)[index] *= np.float32(2.0 ** (step / PER_POWER))
    return replace(own, a=CornerOperand.of(corner, own.a.operand, own.a.seed))


def windows(scene: Scene) -> list[list[int]]:
    return np.unique(scene.tiles(Side.A).k, axis=1).T.tolist()


def is_lost(scene: Scene, row: int) -> NDArray[np.bool_]:
    """bool[K]: the numbers of a row of A that became 0."""
    return (scene.values_along_k(Side.A, row) == 0) & (scene.along_k(Side.A, scene.a.x, row) != 0)


def sums(scene: Scene, row: int, column: int, index: int) -> list[NDArray[np.float64]]:
    """float64[K] each: D[row, column] up to each k, of rounded and of exact numbers.

    The product of the gold number is left out, unless a rotation has spread it.
    """
    lines = (Side.A, row), (Side.B, column)
    exact = [scene.along_k(side, scene.operand(side).x, at).astype(np.float64) for side, at in lines]
    both = np.prod([[scene.values_along_k(*line) for line in lines], exact], axis=1)
    if not _is_rotated(scene):
        both[:, index] = 0
    return list(np.cumsum(both, axis=-1))


def _is_rotated(scene: Scene) -> bool:
    return scene.spec.a is not None and scene.spec.a.rotation is not None


def _frames(scene: Scene, row: int, column: int, index: int) -> str:
    codes = scene.codes_along_k(Side.A, row)
    scale = scene.scale_along_k(Side.A, row)[[start for start, _ in windows(scene)]]
    return frames(scene.a.format, scale[None], is_lost(scene, row), codes, *sums(scene, row, column, index))


def _powers(x: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.log2(np.maximum(np.abs(x.astype(np.float64)), np.finfo(np.float32).tiny))


def _sizes(scene: Scene, own: Scene, row: int, index: int) -> NDArray[np.float64]:
    """The row's numbers as powers of two, the gold one as before the pull."""
    sizes = _powers(scene.along_k(Side.A, scene.a.x, row))
    sizes[index] = _powers(own.along_k(Side.A, own.a.corner, row))[index]
    return sizes


def _words(scene: Scene, row: int, column: int) -> dict[str, Any]:
    format_, matmul = scene.a.format, scene.matmul
    many = len(windows(scene)) > 1
    pins = ["The largest number", "pins its top."]
    if scene.a.scales is None:
        pins = ["Without a scale it", "stays where it is."]
    elif many:
        pins = ["Pinned by the tile's", "own largest number."]
    name, count = f"A = {matmul.symbol(Side.A)}", scene.mnk[2]
    without = "." if _is_rotated(scene) else ", without the gold one"
    return {
        "numbers": f"Row {row} of {name}: {count} numbers along K = {matmul.k.value}",
        "title": "A window for each tile" if many else f"The window of {format_.name}",
        "pins": pins,
        "span": f"{short(span(format_), 2)} powers of two, always",
        "below": ["What lies below", "becomes 0."],
        "sums": [f"Times column {column} of B,", f"over K{without}"],
        "rounded": f"in {format_.packed_bits:g} bits",
    }


def notice(scene: Scene, own: Scene, row: int, index: int, step: int) -> str:
    spec, lost = scene.spec.a, is_lost(scene, row)
    number = int(lost.sum())
    become = f"**{ {0: 'none', lost.size: 'all'}.get(number, number) } of {lost.size} become 0**"
    if spec is None:
        return f"A stays bf16, without a scale: {become}."
    size = tile(spec.tile.mn, spec.tile.k, ("M", "K"))
    if step <= 0:
        return f"A tile is {size}: {become}. Pull the gold number up."
    more = lost & ~is_lost(own, row)
    if not more.any():
        return f"Higher! The window of its tile, {size}, still reaches as many: {become}."
    if len(windows(scene)) == 1:
        return f"The large number sets one scale for the whole row, and {become}."
    start, stop = next(one for one in windows(scene) if index < one[1])
    more[start:stop] = False
    if more.any():
        return f"The large number reaches beyond its own tile of {size}, and {become}."
    return f"The large number sets the scale of its own tile only, {size}: {become}."
