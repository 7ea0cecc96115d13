"""An independent quantizer, tile by tile and step by step: what the reference is compared with."""

from dataclasses import dataclass
from functools import cache

import ml_dtypes
import numpy as np

from fp8core.formats import Format
from fp8core.philox import random_bits
from fp8core.recipes import Operand, OperandSpec
from fp8core.rounding import Rounding
from fp8core.scales import Fit, ScaleRule

f32 = np.float32
TOP = np.finfo(np.float32).max
TINY = np.finfo(np.float32).smallest_normal


@dataclass
class ByHand:
    codes: np.ndarray
    scale: np.ndarray
    outer: np.ndarray | None
    effective: np.ndarray


def quantized(x: np.ndarray, operand: Operand, random: np.ndarray | None = None) -> ByHand:
    """Codes, stored scales and effective scales of x float32[rows, columns]."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _quantized(prepared(x, operand), operand, random)


def _quantized(x: np.ndarray, operand: Operand, random: np.ndarray | None) -> ByHand:
    spec, grid, around = operand.spec, operand.grid(x.shape), operand.outer_grid(x.shape)
    codes = np.zeros(x.shape, np.uint8)
    scale, effective = np.zeros(grid.scale_shape, f32), np.zeros(grid.scale_shape, f32)
    outer = None if around is None else np.zeros(around.scale_shape, f32)
    outer_amax = None if around is None else np.zeros(around.scale_shape, f32)
    if around is not None:
        for t in around.tiles():
            outer_amax[t.row, t.column] = np.abs(
                x[t.rows.start : t.rows.stop, t.columns.start : t.columns.stop]
            ).max()
            outer[t.row, t.column] = outer_of(spec, outer_amax[t.row, t.column])
    for t in grid.tiles():
        part = np.s_[t.rows.start : t.rows.stop, t.columns.start : t.columns.stop]
        place = None if around is None else around.tile_of(t.rows.start, t.columns.start)
        enc_amax, factor = (None, f32(1)) if around is None else (outer_amax[place], outer[place])
        amax = np.abs(x[part]).max()
        if not np.isfinite(amax) or not np.isfinite(factor):
            codes[part] = spec.format.nan_code or 0
            scale[t.row, t.column] = effective[t.row, t.column] = np.nan
            continue
        tries, searches = [], len(spec.scale_rule.search) > 1
        for times in spec.scale_rule.search:
            stored = stored_scale(spec, min(f32(amax) * f32(times), TOP), enc_amax)
            whole = f32(stored * factor)
            tile = x[part].T if operand.k_is_rows else x[part]
            error = tile_error(tile, whole, spec) if searches else 0
            tries.append((error, stored, whole))
        best = min(range(len(tries)), key=lambda number: (tries[number][0], number))
        _, scale[t.row, t.column], effective[t.row, t.column] = tries[best]
        bits = None if random is None else random[part]
        codes[part] = encoded(divided(x[part], effective[t.row, t.column]), spec.format, spec.rounding, bits)
    return ByHand(codes, scale, outer, effective)


def stored_bits(operand: Operand, shape: tuple[int, int], seed: int | None) -> np.ndarray | None:
    """Random bits of a tensor [rows, columns], where the operand takes some."""
    if not operand.spec.is_random:
        return None
    bits = random_bits(operand.stored(shape), seed)
    return np.ascontiguousarray(bits.T) if operand.k_is_rows else bits


def prepared(x: np.ndarray, operand: Operand) -> np.ndarray:
    """x after its saved copy and its rotation."""
    if operand.saved is not None:
        saved = quantized(x, operand.saved)
        grid = operand.saved.grid(x.shape)
        x = (operand.saved.spec.format.decode(saved.codes) * grid.expand(saved.effective)).astype(f32)
    rotation = operand.spec.rotation
    if rotation is None:
        return x
    lines = (x.T if operand.k_is_rows else x).copy()
    for line in lines:
        for start in range(0, line.size - rotation.size + 1, rotation.size):
            run = np.s_[start : start + rotation.size]
            line[run] = butterflies(line[run] * rotation.signs.astype(f32)) * f32(1 / np.sqrt(rotation.size))
    lines = lines.astype(ml_dtypes.bfloat16).astype(f32)
    return lines.T if operand.k_is_rows else lines


def butterflies(run: np.ndarray) -> np.ndarray:
    """The Hadamard transform of a run, by halves: neighbors are added first, the two halves last."""
    if run.size == 1:
        return run
    first, second = butterflies(run[: run.size // 2]), butterflies(run[run.size // 2 :])
    return np.concatenate([first + second, first - second])


def outer_of(spec: OperandSpec, amax: np.float32) -> np.float32:
    """The outer scale of a tile."""
    if spec.scale_rule.outer.constant is not None:
        return f32(spec.scale_rule.outer.constant)
    return f32(np.nan) if not np.isfinite(amax) else f32(1) / enc_of(spec, amax)


def enc_of(spec: OperandSpec, amax: np.float32) -> np.float32:
    top = f32(spec.format.max) * f32(spec.scale_rule.outer.inner_max or spec.scale_rule.format.max)
    with np.errstate(over="ignore"):
        return f32(1) if amax == 0 else min(top / amax, TOP)


def stored_scale(spec: OperandSpec, amax: np.float32, outer_amax: np.float32 | None) -> np.float32:
    """The scale that a tile stores."""
    rule = spec.scale_rule
    if rule.outer is not None and rule.outer.constant is None:
        inner = min(f32(amax) * (enc_of(spec, outer_amax) * (f32(1) / f32(spec.format.max))), f32(448))
        return f32(inner).astype(ml_dtypes.float8_e4m3fn).astype(f32)
    if rule.fit is Fit.NEAREST:
        return max(f32(amax) / f32(rule.target or spec.format.max), TINY)
    return f32(2.0 ** exponent_of(float(amax), spec.format, rule))


def exponent_of(amax: float, element: Format, rule: ScaleRule) -> int:
    """The power of two, searched upward from the smallest."""
    exponent = -127
    if rule.fit is Fit.ROUND_UP:
        while amax > element.max * 2.0**exponent and exponent < 127:
            exponent += 1
    elif rule.fit is Fit.FLOOR:
        while amax >= 2.0 ** (exponent + 1 + element.e_max) and exponent < 127:
            exponent += 1
    else:
        raise AssertionError(f"no oracle for {rule.words}")
    return exponent


def divided(x: np.ndarray, scale: np.float32) -> np.ndarray:
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return x * min(f32(1) / f32(scale), TOP)


def tile_error(tile: np.ndarray, scale: np.float32, spec: OperandSpec) -> np.float32:
    """The squared error of a tile [mn, k]: of each row, then of the rows, the second half on the first."""
    codes = encoded(divided(tile, scale), spec.format, Rounding.NEAREST_EVEN, None)
    with np.errstate(over="ignore", invalid="ignore"):
        error = spec.format.decode(codes).astype(f32) * f32(scale) - tile
        return halved([halved(list(row)) for row in error * error])


def halved(line: list[np.float32]) -> np.float32:
    """The sum of a line, filled up to a power of two: its second half is added to the first, and so on."""
    while len(line) & (len(line) - 1):
        line.append(f32(0))
    while len(line) > 1:
        half = len(line) // 2
        line = [f32(a + b) for a, b in zip(line[:half], line[half:], strict=True)]
    return line[0]


@cache
def table(element: Format) -> tuple[np.ndarray, np.ndarray, int | None]:
    """The finite values in order, a code of each, and the code of -0 where there is one."""
    codes = np.arange(1 << element.bits)
    decoded = element.decode(codes)
    minus_zero = [int(code) for code in codes if decoded[code] == 0 and np.signbit(decoded[code])]
    is_value = np.isfinite(decoded) & ~((decoded == 0) & np.signbit(decoded))
    values, first = np.unique(decoded[is_value], return_index=True)
    return values, codes[is_value][first], minus_zero[0] if minus_zero else None


def encoded(q: np.ndarray, element: Format, rounding: Rounding, random: np.ndarray | None) -> np.ndarray:
    """The code of each number: its two neighbors among all values, and the choice between them."""
    values, codes, minus_zero = table(element)
    q = np.clip(np.asarray(q, np.float64), values[0], values[-1])
    below = np.searchsorted(values, q, side="right") - 1
    above = np.where(values[below] < q, below + 1, below)
    low, high = np.where(q < 0, above, below), np.where(q < 0, below, above)
    gap = np.abs(values[high] - values[low])
    fraction = np.abs(q - values[low]) / np.where(gap > 0, gap, 1)
    if rounding is Rounding.STOCHASTIC:
        up = np.floor(fraction * 256) + random >= 256
    elif rounding is Rounding.NEAREST_AWAY:
        up = fraction >= 0.5
    else:
        up = (fraction > 0.5) | ((fraction == 0.5) & (codes[high] % 2 == 0))
    places = np.where(up, high, low)
    result = codes[places].astype(np.uint8)
    if minus_zero is not None:
        result[(values[places] == 0) & np.signbit(q)] = minus_zero
    return result
