"""One matmul's picture: its tiles, the tiles of A turned, and one element of D as a sum."""

from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from fp8core.contraction import ContractedNumbers, PartialSum, contract, partial_sums, stretches
from fp8core.linear import LayerShape, Matmul, Side
from fp8core.recipes import MatmulSpec, Operand, Recipe
from fp8core.rounding import Rounding
from fp8core.tiles import WHOLE, TileShape
from pages.kit.charts.ink import Ink
from pages.kit.charts.tile_marks import own_colors, shade_words
from pages.kit.charts.words import bits_words, column, percent_text, short, tile
from pages.kit.stage.stage import Stage, floats
from pages.tile_layouts.charts.scene import NO_SCALE, CornerOperand, Scene, matmul_scene

STAGE = Stage("matmul", Path(__file__).parent / "stage" / "matmul.js")
_K = '<b class="k">K</b>'


def turned_tiles(own: TileShape, m: int) -> tuple[TileShape, ...]:
    """A tile that is longer along K than along M, and its shapes as it is turned.

    Each is half as long as the one before, with twice the rows, up to `m` of them; the last one lies across.
    """
    is_long = own.mn is not WHOLE and (own.k is WHOLE or own.k > own.mn)
    if not is_long:
        return (own,)
    if own.k is WHOLE:
        return own, TileShape(WHOLE, own.mn)
    shapes = [own]
    while shapes[-1].k % 2 == 0 and 2 * shapes[-1].mn < min(m, own.k):
        shapes.append(TileShape(2 * shapes[-1].mn, shapes[-1].k // 2))
    return *shapes, TileShape(min(own.k, m), own.mn)


@lru_cache(maxsize=8)
def cases(recipe: Recipe, matmul: Matmul, kind: str, seed: int, layer: LayerShape) -> tuple[Scene, ...]:
    """The matmul of the recipe, then the same numbers with the tiles of A turned step by step."""
    own = matmul_scene(recipe, matmul, kind, seed, layer)
    if own.spec.a is None:
        return (own,)
    scenes = [own]
    for shape in turned_tiles(own.spec.a.tile, own.mnk[0])[1:]:
        try:
            spec = replace(own.spec, a=replace(own.spec.a, tile=shape))
        except ValueError:  # too large for the outer level's tile
            continue
        other = replace(recipe, **{matmul.name: spec})
        a = CornerOperand.of(own.a.corner, other.operand(matmul, Side.A), own.a.seed)
        scenes.append(replace(own, recipe=other, a=a))
    return tuple(scenes)


def output_stretches(scene: Scene) -> tuple[range, ...]:
    return stretches(scene.mnk[2], *map(scene.spec.extent, Side))


def output_parts(scene: Scene, m: int, n: int) -> tuple[PartialSum, ...]:
    """The stretches of D[m, n] over the K of the picture."""
    return partial_sums(*_lines(scene, m, n), *map(scene.spec.extent, Side))


def contraction(scene: Scene, own: MatmulSpec, m: int, n: int) -> ContractedNumbers:
    """D[m, n], and its value if the scales are pulled out of the sums of `own`."""
    return contract(*_lines(scene, m, n), *map(own.extent, Side))


def _lines(scene: Scene, m: int, n: int) -> list[Any]:
    """float64[K] each: codes of row m of A and of column n of B, and their scales."""
    lines = (Side.A, m), (Side.B, n)
    return [scene.factors_along_k(*one) for one in lines] + [scene.scale_along_k(*one) for one in lines]


def exact_sum(scene: Scene, m: int, n: int) -> float:
    """D[m, n] of the numbers before quantization, in float64."""
    lines = (Side.A, m), (Side.B, n)
    a, b = (scene.along_k(side, scene.operand(side).corner, at).astype(np.float64) for side, at in lines)
    return float(a @ b)


def scales_leave(scene: Scene, own: MatmulSpec) -> bool:
    """True if no scale changes inside a stretch that `own` sums."""
    k, own_extents = scene.mnk[2], [own.extent(side) for side in Side]
    return stretches(k, *own_extents, *map(scene.spec.extent, Side)) == stretches(k, *own_extents)


def off_words(value: float, right: float) -> str:
    """The error of a number, to end a sentence on it."""
    if value == 0 or right == 0:
        return "is 0" if value == 0 else "should be 0"
    if value / right < 0:
        return "has the wrong sign"
    ratio = value / right
    if ratio >= 2:
        return f"is {short(ratio, 2)} times too large"
    share = ratio - 1
    if abs(share) < 0.0005:
        return "is off by less than 0.1%"
    return f"is {percent_text(abs(share), 2)} too {'small' if share < 0 else 'large'}"


def data(
    scenes: tuple[Scene, ...], at: dict[str, int | str], ink: Ink, height: int, alt: str
) -> dict[str, Any]:
    """The input of `matmul.js`."""
    own, m, n = scenes[0], int(at["row"]), int(at["column"])
    matmul, numbers = own.matmul, [contraction(scene, own.spec, m, n) for scene in scenes]
    d = f"D = {matmul.d.value}"
    cases = [_case(scene, own, one, len(scenes)) for scene, one in zip(scenes, numbers, strict=True)]
    return {
        "mnk": own.mnk,
        "axes": {"m": matmul.m.value, "n": matmul.n.value, "k": matmul.k.value},
        "b": _tiles(own, Side.B),
        "parts": [np.unique(own.tiles(side).free, axis=1).T.tolist() for side in Side],
        "lines": {"b": operand_lines(own, Side.B), "d": [(f"{d}, in {own.spec.out.name}", d)]},
        "cases": cases,
        "sum": {"isOf": [m, n], **_sum(scenes, numbers, m, n)},
        "shade": f"{shade_words(ink)}." if own.spec.quantized else "",
        "height": height,
        "alt": alt,
        "at": at,
    }


def _case(scene: Scene, own: Scene, numbers: ContractedNumbers, count: int) -> dict[str, Any]:
    is_right = scales_leave(scene, own.spec)
    lines = operand_lines(scene, Side.A)
    if scene is not own and scene.spec.a.tile.mn == own.mnk[0]:
        lines[0] = (f"{lines[0][0]}: all rows drawn", lines[0][1])
    off = off_words(numbers.pulled_out, numbers.right)
    return {
        "a": _tiles(scene, Side.A),
        "isRight": is_right,
        "lines": lines,
        "html": _verdict(scene, own.spec, is_right, count > 1),
        "words": f"{a_shape(scene)}: {'the scales leave the sum' if is_right else f'the sum {off}'}",
    }


def _tiles(scene: Scene, side: Side) -> str:
    """float32[tiles, 6] for `matmul.js`."""
    every = scene.tiles(side)
    shade = own_colors(every.scale) if scene.operand(side).scales else np.full(every.scale.size, np.nan)
    return floats(np.column_stack([*every.free, *every.k, shade, every.scale]))


def a_shape(scene: Scene) -> str:
    spec = scene.spec.a
    return "no scale" if spec is None else tile(spec.tile.mn, spec.tile.k, ("M", "K"))


def operand_lines(scene: Scene, side: Side) -> list[tuple[str, str]]:
    """Format and tiles; bits and the steps before rounding; the outer scale: each also for a telephone."""
    operand, corner = scene.recipe.operand(scene.matmul, side), scene.operand(side)
    tensor, name = scene.matmul.operand(side), f"{side.value} = {scene.matmul.symbol(side)}"
    if operand is None or corner.scales is None:
        return [(f"{name}, {NO_SCALE}", f"{name}, {NO_SCALE}")]
    spec = operand.spec
    free, k = (spec.tile.mn, "M" if side is Side.A else "N"), (spec.tile.k, "K")
    (down, across), names = zip(*((free, k) if side is Side.A else (k, free)), strict=True)
    bits, shape = bits_words(operand, scene.layer.of(tensor)), tile(down, across, names)
    brief = brief_preparation(operand)
    lines = [
        (f"{name} in {spec.format.name}, tiles of {shape}", f"{name}, {shape}"),
        (", ".join([f"{bits} bits per element", *brief]), ", ".join([f"{bits} bits", *brief[:1]])),
    ]
    outer, rule = corner.scales.outer, spec.scale_rule
    if outer is None:
        return lines
    if rule.outer.constant is not None:
        line = f"each scale times {rule.outer.constant:.6g}"
        return [*lines, (line, line)]
    line = f"{rule.format.name} scales under {rule.outer.format.name}"
    return [*lines, (f"{line}, {short(float(outer.flat[0]), 3)}" if outer.size == 1 else line, line)]


def _verdict(scene: Scene, own: MatmulSpec, is_right: bool, can_turn: bool) -> str:
    m, n = (f'<b class="{dim}">{dim}</b>' for dim in "mn")
    scales = " · ".join(f"s{side.value}" for side in Side if own.operand(side))
    a, b = ("A" if own.a is None else "a"), ("B" if own.b is None else "b")
    inner = "k in j" if own.extents_along_k else "k"
    outer = "Σ<sub>j</sub> " * bool(own.extents_along_k) + f'<b class="s">{scales}</b> '
    equation = (
        f"D[{m}, {n}] {'=' if is_right else '≠'} {outer if scales else ''}"
        f'Σ<sub class="k">{inner}</sub> {a} · {b}'
    )
    return (
        f'<p class="equation">{equation}</p><p class="says"><span class="mark{"" if is_right else " wrong"}">'
        f"{'✓' if is_right else '✕'}</span>{_says(scene, own, is_right)}</p>"
        + (f'<p class="hint">{_hint(own, scene, is_right)}</p>' if can_turn else "")
    )


def _says(scene: Scene, own: MatmulSpec, is_right: bool) -> str:
    if not own.quantized:
        return "<b>There are no scales</b>: both operands stay bf16."
    if not is_right:
        every = scene.spec.a.tile.k
        change = "at every product" if every == 1 else f"every {every} products"
        return f"<b>A’s scale changes</b> along {_K}, {change}. It cannot leave the sum."
    both = len(own.quantized) > 1
    holds, leave = ("Both scales stay", "they leave") if both else ("The scale stays", "it leaves")
    extents = own.extents_along_k
    along = f"along {_K} for {min(extents)} products" if extents else f"along all of {_K}"
    return f"<b>{holds} constant</b> {along}, so {leave} the sum."


def _hint(own: MatmulSpec, scene: Scene, is_right: bool) -> str:
    if scene.spec == own:
        return "Pull the gold corner of a tile: turn it, and the sum goes wrong."
    if is_right:
        return "Pull on: these tiles are still long enough."
    return f"Push it back: {_stretch(own)}, one scale."


def _stretch(own: MatmulSpec) -> str:
    return f"{min(own.extents_along_k)} products" if own.extents_along_k else "all of K"


def _sum(scenes: tuple[Scene, ...], numbers: list[ContractedNumbers], m: int, n: int) -> dict[str, Any]:
    own, exact = scenes[0].spec, exact_sum(scenes[0], m, n)
    rights = [one.right_parts.tolist() for one in numbers]
    wrongs = [one.pulled_out_parts.tolist() for one in numbers]
    parts = [output_parts(scene, m, n) if scales_leave(scene, own) else () for scene in scenes]
    return {
        "k": [[part.k.start, part.k.stop] for part in parts[0]],
        "exact": exact,
        "exactWords": short(exact),
        "right": rights,
        "pulled": wrongs,
        "adds": [
            ["+" * (value > 0) + text for value, text in zip(values, column(values, 4)[0], strict=True)]
            for values in wrongs
        ],
        "soFar": [_running(wrong) for wrong in wrongs],
        "steps": [[_steps(part, own) for part in own_parts] for own_parts in parts],
        "wrong": [_wrong(scene, own, one) for scene, one in zip(scenes, numbers, strict=True)],
    }


def _running(parts: list[float]) -> list[str]:
    return [short(value) for value in accumulate(parts)]


def _steps(part: PartialSum, own: MatmulSpec) -> list[tuple[str, str, str]]:
    """A stretch as (value, words, CSS class): the sum of products, the scales, and their product."""
    factors = ("numbers", "codes and numbers", "codes")[len(own.quantized)]
    scales = [
        (f"× {short(scale)}", f"scale of the tile of {side.value}", "scale")
        for side, scale in zip(Side, (part.a_scale, part.b_scale), strict=True)
        if own.operand(side)
    ]
    products = (short(part.code_sum), f"Σ of {len(part.k)} products of {factors}", "")
    return [products, *scales, (f"= {short(part.value)}", "", "k")]


def _wrong(scene: Scene, own: MatmulSpec, numbers: ContractedNumbers) -> dict[str, Any]:
    changes = scene.spec.a and scene.spec.a.tile.k
    shorter = "has nothing to add" if changes == 1 else f"adds {changes} products only"
    each = "each product" if changes == 1 else f"every {changes} products"
    return {
        "head": f"One scale for {_stretch(own)} gives",
        "headRight": f"A scale for {each} gives",
        "right": _running(numbers.right_parts.tolist()),
        "but": f"but then a tensor core {shorter}.",
        "brief": "Scales pulled out:",
        "briefRight": f"A scale for {each}:",
    }


def wrong_notice(scene: Scene, own: MatmulSpec, m: int, n: int) -> str:
    if scales_leave(scene, own):
        return f"A's tiles are {a_shape(scene)} now, and their scales **still leave** the sum."
    numbers = contraction(scene, own, m, n)
    return (
        f"A's tiles are turned: {a_shape(scene)}. Their scales cannot leave the sum. If they do, D[{m}, {n}] "
        f"**{off_words(numbers.pulled_out, numbers.right)}**."
    )


def brief_preparation(operand: Operand) -> tuple[str, ...]:
    """The steps before rounding in a word or two each."""
    spec, steps = operand.spec, []
    if spec.saved_as is not None:
        steps.append("out of a saved copy")
    if spec.rotation is not None:
        steps.append(f"rotated, {spec.rotation.size} along K")
    if spec.rounding is not Rounding.NEAREST_EVEN:
        steps.append("stochastic" if spec.is_random else "ties away from zero")
    return tuple(steps)
