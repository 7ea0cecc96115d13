"""The picture of the page "Start", as HTML: a number's bits, 32 numbers, and the matmuls that take them."""

from html import escape

import numpy as np
from numpy.typing import NDArray

from fp8core.formats import Format
from fp8core.linear import MATMULS, Axis, Matmul, Side
from pages.kit.charts.ink import Ink
from pages.kit.charts.words import short
from pages.start.numbers import EIGHT, SHOWN, SIXTEEN, Tile

_LENGTHS = {Axis.TOKENS: 40, Axis.IN: 48, Axis.OUT: 26}
"""The lengths of the layer's axes, as drawn."""
ROLES = (("S", "sign"), ("E", "exponent"), ("M", "mantissa"))
_STYLE = """<style>
.start { container-type: inline-size; color: VAR_TEXT; }
.start > div { display: grid; grid-template-columns: minmax(0, 1fr) 34cqw; column-gap: 6cqw;
    font-size: clamp(13px, 1.42cqw, 15px); line-height: 1.45; }
.start h2 { font-size: 1.07em; font-weight: 650; line-height: 1.45; padding: 0; margin: 0 0 6px; }
.start section + section { margin-top: clamp(14px, 3.4cqw, 36px); }
.start p { font-size: 1em; line-height: 1.45; margin: 0 0 8px; color: VAR_SOFT; }
.start .code { display: grid; align-items: center; margin: 0.25em 0; white-space: nowrap;
    grid-template-columns: 6.2em calc(16 * (2cqw + 3px) + 1em) auto; }
.start .code > span:first-child { color: VAR_SOFT; }
.start .bits { display: flex; gap: 3px; }
.start .bits i { width: 2cqw; height: 2cqw; border: 1.5px solid; border-radius: 2px; }
.start .lost { color: VAR_LOST; }
.start .tile { display: grid; gap: 4px; margin: 4px 0 10px;
    grid-template-columns: repeat(16, minmax(0, 1fr)); }
.start .tile i { aspect-ratio: 1.2; border-radius: 3px; font-style: normal; font-weight: 650;
    line-height: 1; display: flex; align-items: center; justify-content: center; background: VAR_DOT; }
.start .tile i.lost { background: none; border: 1.5px solid VAR_LOST; }
.start .matmul { margin: 0 0 1.3cqw; }
.start .matmul div { display: flex; align-items: center; gap: 8px; margin-top: 2px; }
.start .box { display: flex; align-items: center; justify-content: center; font-weight: 650; flex: none;
    border: 1px solid VAR_MID; background: VAR_PANEL; width: calc(var(--w) * 0.18cqw);
    height: calc(var(--h) * 0.16cqw); }
.start .matmul b, .start p b.k { color: VAR_K; font-weight: 650; }
@container (min-width: 950px) {
    .start .code { margin: 0.45em 0; }
    .start .tile i { aspect-ratio: 1; }
    .start .matmul { margin-bottom: 2cqw; }
    .start .box { width: calc(var(--w) * 0.19cqw); height: calc(var(--h) * 0.19cqw); }
}
@media (max-width: 640px) {
    .start > div { grid-template-columns: minmax(0, 1fr); row-gap: 16px; font-size: 15px; }
    .start .code { grid-template-columns: 5.6em calc(16 * (2.6cqw + 2px) + 8px) auto; }
    .start .bits { gap: 2px; }
    .start .bits i { width: 2.6cqw; height: 2.6cqw; border-width: 1px; }
    .start .tile { gap: 3px; margin: 2px 0 6px; }
    .start .matmul { display: flex; align-items: center; margin: 0 0 8px; }
    .start .matmul > span { width: 9.6em; }
    .start .matmul > span b { display: block; }
    .start .box { width: calc(var(--w) * 1px); height: calc(var(--h) * 1px); }
}
</style>"""
_INKS = ("text", "soft", "mid", "panel", "dot", "lost", "k")


def picture(tile: Tile, ink: Ink) -> str:
    """HTML of the whole picture."""
    style = _STYLE
    for name in _INKS:
        style = style.replace(f"VAR_{name.upper()}", getattr(ink, name))
    numbers = _section(f"One number in {SIXTEEN[0].bits} bits and in {EIGHT.bits}", _one_number(tile, ink))
    numbers += _section(f"{tile.numbers.size} numbers in {EIGHT.bits} bits", _saved(tile))
    matmuls = _section("A layer trains with three matmuls", _three_matmuls(ink))
    return f'{style}<div class="start"><div><div>{numbers}</div>{matmuls}</div></div>'


def _section(title: str, inside: str) -> str:
    return f"<section><h2>{title}</h2>{inside}</section>"


def _three_matmuls(ink: Ink) -> str:
    rows = "".join(_matmul(matmul, ink) for matmul in MATMULS.values())
    return (
        '<p>FP8 rounds both inputs of each. <b class="k">Thick edges:</b> the dimension that is summed. Each '
        f"matmul sums over a different one.</p>{rows}"
    )


def _matmul(matmul: Matmul, ink: Ink) -> str:
    height, width, depth = (_LENGTHS[axis] for axis in (matmul.m, matmul.n, matmul.k))
    thick = f"4px solid {ink.k}"
    a = _box(matmul.symbol(Side.A), depth, height, f"border-top:{thick};border-bottom:{thick}")
    b = _box(matmul.symbol(Side.B), width, depth, f"border-left:{thick};border-right:{thick}")
    d = _box(matmul.d.value, width, height)
    title = f"<span>{escape(matmul.title)} <b>sums over {escape(matmul.k.value)}</b></span>"
    return f'<div class="matmul">{title}<div>{a}·{b}={d}</div></div>'


def _box(symbol: str, width: int, height: int, edges: str = "") -> str:
    return f'<span class="box" style="--w:{width};--h:{height};{edges}">{escape(symbol)}</span>'


def _one_number(tile: Tile, ink: Ink) -> str:
    value, plain, scaled = (float(found[SHOWN]) for found in (tile.numbers, tile.plain, tile.scaled))
    inks = {letter: ink.of_bit(letter) for letter, _ in ROLES} | {"S": ink.soft}
    legend = ", ".join(f'<b style="color:{inks[letter]}">{name}</b>' for letter, name in ROLES)
    codes = {f.name: (f, int(f.encode(value))) for f in SIXTEEN}
    rows = [_code(name, f, code, float(f.decode(code)), ink) for name, (f, code) in codes.items()]
    rows.append(_code(EIGHT.name, EIGHT, int(tile.plain_codes[SHOWN]), plain, ink, _is_lost(value, plain)))
    rows.append(_code(f"{EIGHT.name}, scaled", EIGHT, int(tile.scaled_codes[SHOWN]), scaled, ink))
    return f"<p>{short(value, 6)} as {legend}. A filled square is 1.</p>{''.join(rows)}"


def _is_lost(value: float, plain: float) -> bool:
    """True for a number that becomes zero, or that is beyond the largest one."""
    return plain == 0 or abs(value) > EIGHT.max


def _code(name: str, format_: Format, code: int, value: float, ink: Ink, is_lost: bool = False) -> str:
    digits = f"{code:0{format_.bits}b}"
    bits = "".join(
        f'<i style="border-color:{color}{f";background:{color}" * int(digit)}"></i>'
        for digit, color in zip(digits, map(ink.of_bit, format_.layout(code)), strict=True)
    )
    told = f'<b class="lost">{escape(short(value))}</b>' if is_lost else f"<b>{escape(short(value))}</b>"
    return (
        f'<div class="code"><span>{escape(name)}</span>'
        f'<span class="bits" role="img" aria-label="{digits}">{bits}</span>{told}</div>'
    )


def _saved(tile: Tile) -> str:
    """The tile twice, a square for each number."""
    size, beyond = tile.numbers.size, int(tile.is_beyond.sum())
    saturate = f", <b>{beyond}</b> saturate" if beyond else ""
    return (
        f"<div>Without a scale: <b>{tile.zeros_plain} of {size}</b> become 0{saturate}</div>"
        f"{_squares(tile.plain, tile.is_beyond)}"
        f"<div>With one scale: <b>{tile.zeros_scaled} of {size}</b> become 0</div>"
        f"{_squares(tile.scaled)}"
    )


def _squares(values: NDArray[np.float64], is_beyond: NDArray[np.bool_] | None = None) -> str:
    beyond = np.zeros(values.shape, bool) if is_beyond is None else is_beyond
    cells = [
        '<i class="lost">0</i>' if value == 0 else '<i class="lost">▲</i>' if over else "<i></i>"
        for value, over in zip(values.tolist(), beyond.tolist(), strict=True)
    ]
    return f'<div class="tile" aria-hidden="true">{"".join(cells)}</div>'
