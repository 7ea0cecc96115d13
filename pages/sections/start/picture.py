"""The picture of the page "Start": four steps from three matmuls to the time they take, as HTML."""

from html import escape

import numpy as np
from numpy.typing import NDArray

from fp8core.formats import Format
from fp8core.linear import MATMULS, Axis, Matmul, Side
from pages.kit.charts.ink import Ink
from pages.kit.charts.words import short
from pages.kit.gemm.words import duration, ratio
from pages.sections.start.numbers import EIGHT, SHOWN, SIXTEEN, Tile
from pages.sections.start.times import LayerTimes

_PIXELS = {Axis.TOKENS: 40, Axis.IN: 48, Axis.OUT: 26}
"""The lengths of the layer's axes, as drawn."""
ROLES = (("S", "sign"), ("E", "exponent"), ("M", "mantissa"))
_WIDEST = 76.0
"""Percent of its part that the longer bar takes; a word stands beside it."""
_STYLE = """<style>
.start { display: grid; gap: 12px; color: VAR_TEXT; font-size: 13px;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 350px), 1fr)); }
.start section { border: 1px solid VAR_LINE; border-radius: 10px; padding: 12px 16px; min-width: 0; }
.start h2 { font-size: 16px; font-weight: 600; line-height: 1.3; padding: 0; margin: 0 0 8px; }
.start p { font-size: 13px; line-height: 1.45; margin: 6px 0 0; color: VAR_SOFT; }
.start p b { color: VAR_TEXT; }
.start .matmul { display: flex; flex-wrap: wrap; align-items: center; gap: 6px; min-height: 54px; }
.start .matmul > :first-child { width: 42px; flex: none; }
.start .box { display: flex; align-items: center; justify-content: center; background: VAR_PANEL;
    border: 1px solid VAR_SOFT; font-weight: 600; flex: none; }
.start .over { color: VAR_K; font-weight: 600; white-space: nowrap; }
.start .code { display: flex; flex-wrap: wrap; align-items: baseline; column-gap: 10px; margin: 5px 0;
    white-space: nowrap; }
.start .code > b { width: 82px; flex: none; font-weight: 400; color: VAR_SOFT; }
.start .bits { font-family: 'Source Code Pro', 'DejaVu Sans Mono', monospace; font-weight: 600;
    font-size: 14px; letter-spacing: 0.5px; }
.start .tile { display: grid; gap: 2px; grid-template-columns: repeat(16, minmax(0, 21px));
    margin: 3px 0 8px; }
.start .tile i { height: 18px; line-height: 16px; border-radius: 3px; font-style: normal; font-size: 11px;
    text-align: center; border: 1px solid VAR_GOOD; background: VAR_GOOD; }
.start .tile i.lost { background: transparent; border-color: VAR_BAD; color: VAR_BAD; }
.start .bar { display: flex; height: 22px; margin: 3px 0 8px; line-height: 22px; }
.start .bar span { padding-left: 6px; white-space: nowrap; box-sizing: border-box; }
.start .bar .two { background: repeating-linear-gradient(135deg, VAR_BAD 0 4px, transparent 4px 7px);
    border: 1px solid VAR_BAD; }
</style>"""
_INKS = ("text", "soft", "line", "panel", "good", "bad", "k")


def picture(tile: Tile, times: LayerTimes | None, ink: Ink) -> str:
    """HTML of the whole picture."""
    style = _STYLE
    for name in _INKS:
        style = style.replace(f"VAR_{name.upper()}", getattr(ink, name))
    parts = (
        _section("1 · A layer trains with three matmuls", _three_matmuls(ink)),
        _section(f"2 · One number in {SIXTEEN[0].bits} bits and in {EIGHT.bits}", _one_number(tile, ink)),
        _section("3 · A scale saves it", _saved(tile)),
        _section("4 · What it buys: time", _time(times, ink)),
    )
    return f'{style}<div class="start">{"".join(parts)}</div>'


def _section(title: str, inside: str) -> str:
    return f"<section><h2>{title}</h2>{inside}</section>"


def _three_matmuls(ink: Ink) -> str:
    rows = "".join(_matmul(matmul, ink) for matmul in MATMULS.values())
    told = (
        f'A linear layer multiplies its tensors. <b style="color:{ink.k}">The thick edges</b> run along the '
        "dim that is summed: <b>another one in each matmul</b>. In FP8 training, both inputs have "
        f"{EIGHT.bits} bits."
    )
    return f"{rows}<p>{told}</p>"


def _matmul(matmul: Matmul, ink: Ink) -> str:
    height, width, depth = (_PIXELS[axis] for axis in (matmul.m, matmul.n, matmul.k))
    thick = f"4px solid {ink.k}"
    a = _box(matmul.symbol(Side.A), depth, height, f"border-top:{thick};border-bottom:{thick}")
    b = _box(matmul.symbol(Side.B), width, depth, f"border-left:{thick};border-right:{thick}")
    d = _box(matmul.d.value, width, height)
    over = f'<span class="over">sums over {escape(matmul.k.value)}</span>'
    return f'<div class="matmul"><span>{escape(matmul.title)}</span>{a}·{b}={d}{over}</div>'


def _box(symbol: str, width: int, height: int, edges: str = "") -> str:
    return f'<span class="box" style="width:{width}px;height:{height}px;{edges}">{escape(symbol)}</span>'


def _one_number(tile: Tile, ink: Ink) -> str:
    value, plain, scaled = (float(found[SHOWN]) for found in (tile.numbers, tile.plain, tile.scaled))
    codes = {f.name: (f, int(f.encode(value))) for f in SIXTEEN}
    rows = [_code(name, f, code, float(f.decode(code)), ink) for name, (f, code) in codes.items()]
    rows.append(_code(EIGHT.name, EIGHT, int(tile.plain_codes[SHOWN]), plain, ink))
    rows.append(_code(f"{EIGHT.name}, scaled", EIGHT, int(tile.scaled_codes[SHOWN]), scaled, ink))
    legend = ", ".join(f'<b style="color:{ink.of_bit(role[0])}">{role[1]}</b>' for role in ROLES)
    told = f"The number is <b>{short(value, 6)}</b>. Bits: {legend}. {_fate(value, plain, scaled)}"
    return f"{''.join(rows)}<p>{told}</p>"


def _fate(value: float, plain: float, scaled: float) -> str:
    """Two sentences on what eight bits make of the number."""
    if plain == 0:
        first = f"Without a scale, the nearest number of {EIGHT.name} is <b>zero</b>."
    elif abs(value) > EIGHT.max:
        first = (
            f"Without a scale, it is <b>beyond the largest</b> number of {EIGHT.name}, {short(EIGHT.max)}."
        )
    else:
        first = f"Without a scale, it is off by <b>{abs(plain / value - 1):.2%}</b>."
    return f"{first} With a scale, it is off by <b>{abs(scaled / value - 1):.2%}</b>."


def _code(name: str, format_: Format, code: int, value: float, ink: Ink) -> str:
    bits = "".join(
        f'<span style="color:{ink.of_bit(letter)}">{digit}</span>'
        for digit, letter in zip(f"{code:0{format_.bits}b}", format_.layout(code), strict=True)
    )
    return (
        f'<div class="code"><b>{escape(name)}</b><span class="bits">{bits}</span>'
        f"<span>{escape(short(value))}</span></div>"
    )


def _saved(tile: Tile) -> str:
    """The tile twice, a square for each number."""
    size, beyond = tile.numbers.size, int(tile.is_beyond.sum())
    saturate = f", <b>{beyond}</b> saturate" if beyond else ""
    return (
        f"<div>Without a scale: <b>{tile.zeros_plain} of {size}</b> become zero{saturate}</div>"
        f"{_squares(tile.plain, tile.is_beyond)}"
        f"<div>With one scale: <b>{tile.zeros_scaled} of {size}</b> become zero</div>"
        f"{_squares(tile.scaled)}"
        f"<p>All {size} numbers are divided by one scale, here {short(tile.scale, 3)}. Then they are "
        f"rounded. The scale turns the largest of them into {short(EIGHT.max)}, the largest number of "
        f"{EIGHT.name}. The matmul's result is multiplied by the scale.</p>"
    )


def _squares(values: NDArray[np.float64], is_beyond: NDArray[np.bool_] | None = None) -> str:
    beyond = np.zeros(values.shape, bool) if is_beyond is None else is_beyond
    cells = [
        '<i class="lost">0</i>' if value == 0 else '<i class="lost">▲</i>' if over else "<i></i>"
        for value, over in zip(values.tolist(), beyond.tolist(), strict=True)
    ]
    return f'<div class="tile" aria-hidden="true">{"".join(cells)}</div>'


def _time(times: LayerTimes | None, ink: Ink) -> str:
    if times is None:
        return "<p>No time of a layer is recorded, and none was measured here yet.</p>"
    longest = max(times.bf16_us, times.fp8_us)
    bf16, multiply, quantize = (
        f"width:{_WIDEST * us / longest:.1f}%" for us in (times.bf16_us, times.gemm_us, times.quantize_us)
    )
    sizes = ", ".join(f"{times.layer.size(axis):,} {axis.value}" for axis in Axis)
    return (
        f"<div>bf16: <b>{escape(duration(times.bf16_us))}</b></div>"
        f'<div class="bar"><span style="{bf16};background:{ink.soft};color:{ink.page}">multiply</span></div>'
        f"<div>fp8: <b>{escape(duration(times.fp8_us))}</b></div>"
        f'<div class="bar"><span style="{multiply};background:{ink.scale};color:{ink.page}">multiply</span>'
        f'<span class="two" style="{quantize}"></span><span>+ quantize</span></div>'
        f"<p><b>{escape(ratio(times.times_faster))} as fast</b>: {escape(', '.join(times.matmuls))} of a "
        f"layer with {escape(sizes)}. Recipe: {escape(times.recipe)}. {escape(times.where)}, "
        f"{escape(times.when)}.</p>"
    )
