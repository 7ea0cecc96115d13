"""The picture of one matmul: its tiles, the tiles of A turned step by step, and one element of D as a sum."""

from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp8core.contraction import ContractedNumbers, PartialSum, contract, partial_sums, stretches
from fp8core.linear import LayerShape, Matmul, Side
from fp8core.recipes import MatmulSpec, Operand, Recipe
from fp8core.rounding import Rounding
from fp8core.tiles import WHOLE, TileShape
from pages.kit.charts.ink import Ink
from pages.kit.charts.tile_marks import own_colors, shade_words
from pages.kit.charts.words import bits_words, column, percent_text, short, tile
from pages.kit.stage.stage import Stage, floats
from pages.tile_layouts.charts.scene import NO_SCALE, DrawnOperand, Scene, scene

_FOLDER = Path(__file__).parent / "stage"
STAGE = Stage("matmul", _FOLDER / "matmul.js", _FOLDER / "matmul.css")
_SCENES_KEPT = 8
_NO_ERROR, _TIMES = 0.0005, 2
_K = '<b class="k">K</b>'


def turned_tiles(own: TileShape, m: int) -> tuple[TileShape, ...]:
    """A tile that is longer along K than along M, and what it becomes as it is turned.

    Each further one is half as long along K and has twice the rows, until it has all `m` rows that are drawn;
    then comes the tile that lies across. There is nothing to turn in a tile that is not long.
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


@lru_cache(maxsize=_SCENES_KEPT)
def cases(recipe: Recipe, matmul: Matmul, kind: str, seed: int, layer: LayerShape) -> tuple[Scene, ...]:
    """The matmul as the recipe has it, then with the tiles of A turned step by step, on the same numbers."""
    own = scene(recipe, matmul, kind, seed, layer)
    if own.spec.a is None:
        return (own,)
    scenes = [own]
    for shape in turned_tiles(own.spec.a.tile, own.mnk[0])[1:]:
        try:
            spec = replace(own.spec, a=replace(own.spec.a, tile=shape))
        except ValueError:  # a tile of the outer level has no room for it
            continue
        other = replace(recipe, **{matmul.name: spec})
        a = DrawnOperand.of(own.a.corner, other.operand(matmul, Side.A), own.a.seed)
        scenes.append(replace(own, recipe=other, a=a))
    return tuple(scenes)


def output_stretches(drawn: Scene) -> tuple[range, ...]:
    return stretches(drawn.mnk[2], *map(drawn.spec.extent, Side))


def output_parts(drawn: Scene, m: int, n: int) -> tuple[PartialSum, ...]:
    """The stretches of D[m, n] over the K that is drawn."""
    return partial_sums(*_lines(drawn, m, n), *map(drawn.spec.extent, Side))


def pulled_out(drawn: Scene, own: MatmulSpec, m: int, n: int) -> ContractedNumbers:
    """D[m, n], and what comes of it where the scales leave each sum that `own` has."""
    return contract(*_lines(drawn, m, n), *map(own.extent, Side))


def _lines(drawn: Scene, m: int, n: int) -> list[Any]:
    """The codes of row m of A and of column n of B, and the scales of both: float64[K] each."""
    lines = (Side.A, m), (Side.B, n)
    return [drawn.factors_along_k(*one) for one in lines] + [drawn.scale_along_k(*one) for one in lines]


def unquantized(drawn: Scene, m: int, n: int) -> float:
    """D[m, n] in float64 of the numbers before quantization, over the K that is drawn."""
    a, b = (
        drawn.along_k(side, drawn.operand(side).corner, at).astype(np.float64)
        for side, at in ((Side.A, m), (Side.B, n))
    )
    return float(a @ b)


def scales_leave(drawn: Scene, own: MatmulSpec) -> bool:
    """True where no scale changes inside a stretch that `own` sums."""
    k, own_extents = drawn.mnk[2], [own.extent(side) for side in Side]
    return stretches(k, *own_extents, *map(drawn.spec.extent, Side)) == stretches(k, *own_extents)


def off_words(value: float, right: float) -> str:
    """How far a number is off, to end "D[5, 0] …"."""
    if value == 0 or right == 0:
        return "is 0" if value == 0 else "should be 0"
    if value / right < 0:
        return "has the wrong sign"
    ratio = value / right
    if ratio >= _TIMES:
        return f"is {short(ratio, 2)} times too large"
    share = ratio - 1
    if abs(share) < _NO_ERROR:
        return "is off by less than 0.1%"
    return f"is {percent_text(abs(share), 2)} too {'small' if share < 0 else 'large'}"


def data(
    scenes: tuple[Scene, ...], at: dict[str, int | str], ink: Ink, height: int, alt: str
) -> dict[str, Any]:
    """What `matmul.js` draws."""
    own, m, n = scenes[0], int(at["row"]), int(at["column"])
    matmul, numbers = own.matmul, [pulled_out(drawn, own.spec, m, n) for drawn in scenes]
    cases = [_case(drawn, own, one, len(scenes)) for drawn, one in zip(scenes, numbers, strict=True)]
    return {
        "mnk": own.mnk,
        "axes": {"m": matmul.m.value, "n": matmul.n.value, "k": matmul.k.value},
        "b": _tiles(own, Side.B),
        "parts": [np.unique(own.tiles(side).free, axis=1).T.tolist() for side in Side],
        "lines": {"b": operand_lines(own, Side.B), "d": [_d_line(own)]},
        "cases": cases,
        "sum": {"isOf": [m, n], **_sum(scenes, numbers, m, n)},
        "shade": f"{shade_words(ink)}." if own.spec.quantized else "",
        "height": height,
        "alt": alt,
        "at": at,
    }


def _case(drawn: Scene, own: Scene, numbers: ContractedNumbers, count: int) -> dict[str, Any]:
    is_right = scales_leave(drawn, own.spec)
    lines = operand_lines(drawn, Side.A)
    if drawn is not own and drawn.spec.a.tile.mn == own.mnk[0]:
        lines[0] = (f"{lines[0][0]}: all rows drawn", lines[0][1])
    off = off_words(numbers.pulled_out, numbers.right)
    return {
        "a": _tiles(drawn, Side.A),
        "isRight": is_right,
        "lines": lines,
        "html": _verdict(drawn, own.spec, is_right, count > 1),
        "words": f"{a_shape(drawn)}: {'the scales leave the sum' if is_right else f'the sum {off}'}",
    }


def _tiles(drawn: Scene, side: Side) -> str:
    """The tiles as `matmul.js` reads them: float32[tiles, 6]."""
    every = drawn.tiles(side)
    shade = own_colors(every.scale) if drawn.operand(side).scales else np.full(every.scale.size, np.nan)
    return floats(np.column_stack([*every.free, *every.k, shade, every.scale]))


def a_shape(drawn: Scene) -> str:
    """The tile of A in words, rows along M."""
    spec = drawn.spec.a
    return "no scale" if spec is None else tile(spec.tile.mn, spec.tile.k, ("M", "K"))


def _d_line(drawn: Scene) -> tuple[str, str]:
    d = drawn.matmul.d.value
    return f"D = {d}, in {drawn.spec.out.name}", f"D = {d}"


def operand_lines(scene: Scene, side: Side) -> list[tuple[str, str]]:
    """Format and tiles; bits and the steps before rounding; the outer scale. Each also for a telephone."""
    operand, drawn = scene.recipe.operand(scene.matmul, side), scene.operand(side)
    tensor, name = scene.matmul.operand(side), f"{side.value} = {scene.matmul.symbol(side)}"
    if operand is None or drawn.scales is None:
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
    outer, rule = drawn.scales.outer, spec.scale_rule
    if outer is None:
        return lines
    if rule.outer.constant is not None:
        line = f"each scale times {rule.outer.constant:.6g}"
        return [*lines, (line, line)]
    line = f"{rule.format.name} scales under {rule.outer.format.name}"
    return [*lines, (f"{line}, {short(float(outer.flat[0]), 3)}" if outer.size == 1 else line, line)]


def _verdict(drawn: Scene, own: MatmulSpec, is_right: bool, can_turn: bool) -> str:
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
        f"{'✓' if is_right else '✕'}</span>{_says(drawn, own, is_right)}</p>"
        + (f'<p class="hint">{_hint(own, drawn, is_right)}</p>' if can_turn else "")
    )


def _says(drawn: Scene, own: MatmulSpec, is_right: bool) -> str:
    if not own.quantized:
        return "<b>There are no scales</b>: both operands stay bf16."
    if not is_right:
        every = drawn.spec.a.tile.k
        change = "at every product" if every == 1 else f"every {every} products"
        return f"<b>A’s scale changes</b> along {_K}, {change}. It cannot leave the sum."
    both = len(own.quantized) > 1
    holds, leave = ("Both scales stay", "they leave") if both else ("The scale stays", "it leaves")
    extents = own.extents_along_k
    along = f"along {_K} for {min(extents)} products" if extents else f"along all of {_K}"
    return f"<b>{holds} constant</b> {along}, so {leave} the sum."


def _hint(own: MatmulSpec, drawn: Scene, is_right: bool) -> str:
    if drawn.spec == own:
        return "Pull the gold corner of a tile: turn it, and the sum goes wrong."
    extents = own.extents_along_k
    return (
        f"Push it back: {f'{min(extents)} products' if extents else 'all of K'}, one scale."
        if not is_right
        else "Pull on: these tiles are still long enough."
    )


def _sum(scenes: tuple[Scene, ...], numbers: list[ContractedNumbers], m: int, n: int) -> dict[str, Any]:
    """D[m, n] in each case, stretch by stretch, in numbers and in words."""
    own, exact = scenes[0].spec, unquantized(scenes[0], m, n)
    rights, pulled = ([part.tolist() for part in parts] for parts in zip(*map(_both, numbers), strict=True))
    parts = [output_parts(drawn, m, n) if scales_leave(drawn, own) else () for drawn in scenes]
    return {
        "k": [[part.k.start, part.k.stop] for part in parts[0]],
        "exact": exact,
        "exactWords": short(exact),
        "right": rights,
        "pulled": pulled,
        "adds": [_signed(values) for values in pulled],
        "soFar": [[short(value) for value in accumulate(right)] for right in rights],
        "steps": [[_steps(part, own) for part in own_parts] for own_parts in parts],
        "wrong": [_wrong(drawn, own, one) for drawn, one in zip(scenes, numbers, strict=True)],
    }


def _both(numbers: ContractedNumbers) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return numbers.right_parts, numbers.pulled_out_parts


def _signed(values: list[float]) -> list[str]:
    """Numbers to one decimal place, with their signs."""
    texts, _ = column(values, 4)
    return ["+" * (value > 0) + text for value, text in zip(values, texts, strict=True)]


def _steps(part: PartialSum, own: MatmulSpec) -> list[tuple[str, str, str]]:
    """A stretch: the sum of products of codes, the scales, and what it adds, as (value, words, class)."""
    factors = ("numbers", "codes and numbers", "codes")[len(own.quantized)]
    scales = [
        (f"× {short(scale)}", f"scale of the tile of {side.value}", "scale")
        for side, scale in zip(Side, (part.a_scale, part.b_scale), strict=True)
        if own.operand(side)
    ]
    products = (short(part.code_sum), f"sum of {len(part.k)} products of {factors}", "")
    return [products, *scales, (f"= {short(part.value)}", "", "k")]


def _wrong(drawn: Scene, own: MatmulSpec, numbers: ContractedNumbers) -> dict[str, str]:
    """The wrong sum and the right one in words."""
    summed, changes = own.extents_along_k, drawn.spec.a and drawn.spec.a.tile.k
    many = f"{min(summed)} products" if summed else "all of K"
    shorter = "has nothing to add" if changes == 1 else f"adds {changes} products only"
    each = "each product" if changes == 1 else f"every {changes} products"
    return {
        "head": f"One scale for {many} gives",
        "got": short(numbers.pulled_out),
        "headRight": f"A scale for {each} gives",
        "right": short(numbers.right),
        "but": f"but then a tensor core {shorter}.",
        "brief": "Scales pulled out:",
        "briefRight": f"A scale for {each}:",
    }


def wrong_notice(drawn: Scene, own: MatmulSpec, m: int, n: int) -> str:
    """The tiles of A that were turned, and what pulling their scales out does."""
    if scales_leave(drawn, own):
        return f"A's tiles are {a_shape(drawn)} now, and their scales **still leave** the sum."
    numbers = pulled_out(drawn, own, m, n)
    return (
        f"A's tiles are turned: {a_shape(drawn)}. Their scales cannot leave the sum. If they do, D[{m}, {n}] "
        f"**{off_words(numbers.pulled_out, numbers.right)}**."
    )


def brief_preparation(operand: Operand) -> tuple[str, ...]:
    """The steps of `preparation` in a word or two each, for a picture."""
    spec, said = operand.spec, []
    if spec.saved_as is not None:
        said.append("out of a saved copy")
    if spec.rotation is not None:
        said.append(f"rotated, {spec.rotation.size} along K")
    if spec.rounding is not Rounding.NEAREST_EVEN:
        said.append("stochastic" if spec.is_random else "ties away from zero")
    return tuple(said)
