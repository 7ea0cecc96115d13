"""Section "One matmul": the picture, and the arithmetic of one tile."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp8core.costs import matmul_rescales
from fp8core.linear import MATMULS, LayerShape, Side
from fp8core.operand_scales import tile_errors
from fp8core.quantize import scaled
from fp8core.recipes import MatmulSpec, Operand, OperandSpec
from fp8core.scales import NO_SEARCH
from fp8core.tiles import WHOLE, TileGrid
from kernels.device import Unsupported
from kernels.gemm.block_scaled import kind_of
from pages.kit.charts.ink import Ink
from pages.kit.charts.words import code_text, count, power_of_two, rotation_words, scales_words, short, span
from pages.kit.controls import Controls
from pages.kit.shared_controls import INPUT, MATMUL, SEED, draw_recipe, draw_source
from pages.kit.tables import colored, grid, note, pairs
from pages.kit.view import View, draw_notice, here, page_ink, room
from pages.tile_layouts.charts.scene import OperandTile, Scene, part_of, stored_slice
from pages.tile_layouts.facts import COLUMN, ROW, SIDE, STRETCH, TURN
from pages.tile_layouts.matmul import STAGE, cases, data, output_stretches, wrong_notice

_FIRST = 4
HARDWARE_SOURCES = (
    "Sources: NVIDIA PTX ISA, wgmma (K-major fp8 operands) and tcgen05.mma (block_scale); NVIDIA CUTLASS, "
    "Blackwell functionality (layouts)."
)
_LARGEST = np.finfo(np.float32).max
_TITLE = '<div style="font-size:15px;color:{color};margin-top:{above}px">{words}</div>'

# A name and its number, in the order in which they are computed.
Steps = list[tuple[str, str]]


def show(controls: Controls, layer: LayerShape) -> None:
    view, ink = here(), page_ink()
    recipe = draw_recipe(controls, view.control)
    matmul = MATMULS[controls.draw(MATMUL, view.control)]
    scenes = cases(recipe, matmul, controls.value(INPUT), controls.value(SEED), layer)
    own = scenes[0]
    at = _place(controls, scenes)
    m, n = at["row"], at["column"]
    scene = scenes[at["turn"]]
    draw_notice(wrong_notice(scene, own.spec, m, n) if at["turn"] else notice(own))
    _picture(controls, scenes, at, ink)
    tile = _tile(scene, own, at)
    view.after.html(_tile_head(tile, scene, ink) + _scale_table(tile, scene, ink))
    title = _TITLE.format(color=ink.text, above=10, words="Its first elements, and the largest")
    view.after.html(title + _element_table(tile, scene, ink))
    _explain(view, own)
    draw_source(recipe)


def _place(controls: Controls, scenes: tuple[Scene, ...]) -> dict[str, Any]:
    m, n, _ = scenes[0].mnk
    count = len(output_stretches(scenes[0]))
    tops = {ROW: m - 1, COLUMN: n - 1, STRETCH: count, TURN: len(scenes) - 1}
    at = {"side": controls.draw(SIDE)}
    for control, top in tops.items():
        at[control.key] = controls.draw(control, high=top) if top > control.low else control.low
    at[STRETCH.key] = at[STRETCH.key] or count
    return at


def _picture(controls: Controls, scenes: tuple[Scene, ...], at: dict[str, Any], ink: Ink) -> None:
    own, matmul = scenes[0], scenes[0].matmul

    def take(move: dict[str, Any]) -> None:
        values = {control: move.get(control.key) for control in (SIDE, ROW, COLUMN, STRETCH, TURN)}
        if values[STRETCH] == len(output_stretches(own)):
            values[STRETCH] = STRETCH.default
        controls.preset(**{one.key: value for one, value in values.items() if one.accepts(value)})

    alt = (
        f"{matmul.title} of {own.recipe.title}: A = {matmul.symbol(Side.A)} at the left in "
        f"{own.grid_shape(Side.A)} tiles, B = {matmul.symbol(Side.B)} above in {own.grid_shape(Side.B)} "
        f"tiles, D = {matmul.d.value} in the corner. At the right, D[{at['row']}, {at['column']}] as a sum "
        "over K."
    )
    STAGE.draw(data(scenes, at, ink, room(), alt), key="hand_matmul", on_change=take)


def _tile(scene: Scene, own: Scene, at: dict[str, Any]) -> OperandTile:
    """The tile of the chosen side at the element of D, in the last summed stretch."""
    side = Side(at["side"])
    k = output_stretches(own)[at["stretch"] - 1].start
    free = at["row"] if side is Side.A else at["column"]
    place = (k, free) if scene.matmul.k_is_rows(side) else (free, k)
    return scene.tile(side, *scene.operand(side).grid.tile_of(*place))


def notice(scene: Scene) -> str:
    spec, matmul = scene.spec, scene.matmul
    if not spec.quantized:
        return f"{matmul.title} multiplies bf16 numbers: there is **no scale**."
    sums = f"{matmul.title} sums over *{matmul.k.value}*"
    if not spec.extents_along_k:
        return f"{sums}, and no scale changes on the way. Each element of D is rescaled **once**."
    tiles = [one.tile for one in spec.quantized]
    is_long = any(WHOLE not in (tile.mn, tile.k) and tile.mn < tile.k for tile in tiles)
    along = f"so its tiles run along *{matmul.k.value}*" if is_long else "and its scales change on the way"
    times = matmul_rescales(scene.recipe, matmul, scene.layer)
    few = len(output_stretches(scene))
    of_these = f"; {few} are drawn" if few < times else ""
    return f"{sums}, {along}. Each element of D is rescaled **{count(times, 'time')}**{of_these}."


def _tile_head(tile: OperandTile, scene: Scene, ink: Ink) -> str:
    dim = "m" if tile.side is Side.A else "n"
    free, k = (
        colored(f"{name} = {span(part)}", name, ink) for name, part in ((dim, tile.free), ("k", tile.k))
    )
    name = f"{tile.side.value} = {scene.matmul.symbol(tile.side)}, tile {free}, {k}"
    return _TITLE.format(color=ink.text, above=0, words=name)


def _scale_table(tile: OperandTile, scene: Scene, ink: Ink) -> str:
    tensor, operand = scene.matmul.operand(tile.side), scene.operand(tile.side).operand
    rows, columns = tile.stored.rows, tile.stored.columns
    size = [("as stored", stored_slice(tensor, rows, columns)), ("elements", f"{len(rows) * len(columns):,}")]
    if operand is None:
        return pairs([*size, ("largest |x|", short(tile.amax)), ("scale", "none: it stays bf16")], ink)
    return pairs([*size, *scale_steps(operand, tile, scene.operand(tile.side).x[part_of(tile.stored)])], ink)


def scale_steps(operand: Operand, tile: OperandTile, x: NDArray[np.float32]) -> Steps:
    """From amax to the scale of a tile by its rule; `x` are the tile's numbers."""
    spec, name, amax = operand.spec, "amax", np.float32(tile.amax)
    rule, steps = spec.scale_rule, [("amax, the largest |x|", short(tile.amax))]
    if rule.history:
        steps.append(("amax of earlier steps", "none yet: this tensor's own"))
    if rule.search != NO_SEARCH:
        errors, factor = _search(operand, tile, x)
        steps += errors
        name, amax = f"amax · {factor:g}", np.float32(tile.amax * factor)
    if rule.has_fitted_outer:
        return steps + _two_levels(spec, tile, name, amax)
    top = rule.target or spec.format.max
    if rule.powers_of_two:
        exact = f"{short(tile.scale)} = {power_of_two(float(np.log2(tile.scale)))}"
        steps += [(f"{name} / {top:g}", short(float(amax) / top)), ("scale: a power of two, rounded", exact)]
    else:
        steps.append((f"scale = {name} / {top:g}", short(tile.scale)))
    if tile.outer is not None:
        steps.append(("outer scale, a constant", short(tile.outer[0])))
        steps.append(("scale · outer scale", short(tile.exact)))
    return steps


def _two_levels(spec: OperandSpec, tile: OperandTile, name: str, amax: np.float32) -> Steps:
    """The inner scale and the outer one, as `fp8core.scales` computes them: each step in fp32."""
    rule, top, (outer, outer_amax) = spec.scale_rule, np.float32(spec.format.max), tile.outer
    stop, around = np.float32(rule.outer.inner_max or rule.format.max), np.float32(outer_amax)
    with np.errstate(over="ignore", divide="ignore"):
        enc = np.minimum(top * stop / around, _LARGEST) if around else np.float32(1)
        enc = enc or np.float32(1)
        inner = amax * (enc * (np.float32(1) / top))
    return [
        ("amax of the outer tile, as drawn", short(outer_amax)),
        (f"enc = {top:g} · {stop:g} / that amax", short(float(enc))),
        ("outer scale = 1 / enc", short(outer)),
        (f"{name} · (enc · (1 / {top:g}))", short(float(inner))),
        (f"inner scale: that in {rule.format.name}", short(tile.scale)),
        ("inner · outer scale", short(tile.exact)),
    ]


def _search(operand: Operand, tile: OperandTile, x: NDArray[np.float32]) -> tuple[Steps, float]:
    """The squared error of the tile under each candidate, and the factor of the tile's own scale."""
    spec, grid, rule = operand.spec, operand.grid(x.shape), operand.spec.scale_rule
    outer, outer_amax = (1, 0) if tile.outer is None else tile.outer
    above = np.array([[outer_amax]], np.float32) if rule.has_fitted_outer else None
    steps, best = [], rule.search[0]
    for factor in reversed(rule.search):
        scale = rule.scale(np.array([[tile.amax * factor]], np.float32), spec.format, above)
        error = float(tile_errors(x, operand, grid, scale * np.float32(outer))[0, 0])
        if float(scale[0, 0]) == tile.scale:
            best = factor
        steps.insert(0, (f"squared error with amax · {factor:g}", short(error)))
    return steps, best


def _element_table(tile: OperandTile, scene: Scene, ink: Ink) -> str:
    """The first elements of the tile and its largest: from x to the code and back."""
    operand, part, spec = scene.operand(tile.side), part_of(tile.stored), scene.spec.operand(tile.side)
    top, left = tile.stored.rows.start, tile.stored.columns.start
    x, codes = operand.x[part], operand.codes(*part)
    numbers = operand.format.decode(codes)
    if spec is None:
        before, after = {"x": operand.corner[part]}, {"bf16": numbers}
    else:
        # The quantizer takes the reciprocal of this product.
        effective = np.float32(tile.scale) * np.float32(1 if tile.outer is None else tile.outer[0])
        quotients = scaled(x, TileGrid(x.shape, (WHOLE, WHOLE)), effective.reshape(1, 1))
        name = "x rotated" if spec.rotation else "x saved" if spec.saved_as else "x"
        before, after = {name: x, "x/scale": quotients}, {"code·scale": numbers * tile.exact}
    elements = _elements(tile, scene)
    rows = [
        (
            f"[{top + at[0]},{left + at[1]}]",
            *(short(column[at], 3) for column in before.values()),
            code_text(int(codes[at]), operand.format.bits),
            *(short(column[at], 3) for column in after.values()),
        )
        for at in elements
    ]
    largest = [number for number, at in enumerate(elements) if abs(x[at]) == tile.amax]
    head = ("element", *before, "code", *after)
    return grid(head, rows, ink, marked=largest) + note("shaded: the largest |x|", ink)


def _elements(tile: OperandTile, scene: Scene) -> list[tuple[int, int]]:
    along_rows = scene.matmul.k_is_rows(tile.side)
    first = [(k, 0) if along_rows else (0, k) for k in range(len(tile.k[:_FIRST]))]
    sizes = np.abs(scene.operand(tile.side).x[part_of(tile.stored)])
    row, column = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
    largest = (int(row), int(column))
    return first if largest in first else [*first, largest]


def _explain(view: View, scene: Scene) -> None:
    view.know.markdown("\n".join([hardware(scene.spec), *_preparation_notes(scene)]))
    specs = scene.spec.quantized
    if any(spec.rotation for spec in specs):
        view.know.page_link("pages/rotations.py", label="Why rotate?", icon=":material/help:")
    if any(spec.is_random for spec in specs):
        page, label = "pages/stochastic_rounding.py", "Why round at random?"
        view.know.page_link(page, label=label, icon=":material/help:")
    view.know.caption(HARDWARE_SOURCES)


def _preparation_notes(scene: Scene) -> list[str]:
    notes = []
    for side in Side:
        operand = scene.recipe.operand(scene.matmul, side)
        name = f"**{side.value} = {scene.matmul.symbol(side)}**"
        if operand is None:
            continue
        if source := operand.saved:
            notes.append(
                f"- {name} is made out of a copy that was saved: {source.spec.format.name} codes with "
                f"{scales_words(scene.matmul.operand(side), source)}. They are dequantized and quantized "
                "again in the tiles that are drawn. The card shows these values as “x saved”."
            )
        if operand.spec.rotation:
            notes.append(
                f"- {name} is rotated before it is rounded ({rotation_words(operand.spec.rotation)}). In the "
                "product the rotations cancel. The scales and codes here are those of the rotated numbers."
            )
        if operand.spec.is_random:
            notes.append(
                f"- {name} is rounded stochastically, up with a probability equal to the fraction. The seed "
                "draws the random bits, too."
            )
    return notes


def hardware(spec: MatmulSpec) -> str:
    """The scaling that Hopper's and Blackwell's tensor cores do by themselves."""
    if not spec.quantized:
        return "This is a matmul of bf16 numbers, without scales."
    if not spec.extents_along_k:
        return "The tensor core sums all of K. The kernel multiplies the finished sum by the scales."
    hopper = (
        "**On Hopper**, the tensor core knows no scales: the kernel applies them to a partial sum, at least "
        f"once every {min(spec.extents_along_k)} k."
    )
    kind = kind_of(spec)
    if isinstance(kind, Unsupported):
        return f"{hopper} **On Blackwell** too: {kind.reason}."
    return f"{hopper} **On Blackwell**, the tensor core applies these scales itself (`kind::{kind.value}`)."
