"""A format given by the value of each code, if five integers do not describe it.

HiF8 spends mantissa bits where numbers are frequent; MXINT8 is an integer over a power of two.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp8core.arrays import Bools, Float64, Int64
from fp8core.checks import codes_of, instance, reals, whole
from fp8core.formats.protocol import Format, code_for
from fp8core.rounding import Overflow, Rounding, round_steps


@dataclass(frozen=True, kw_only=True)
class TableFormat(Format):
    """`table[code]` is each code's value, infinities and NaN included; finite values differ.

    `gap_beyond`: step from the last value to the next, which would overflow. `layouts[code]`: a letter a bit,
    from the top: S sign, D dot field, E exponent, M mantissa, I integer. `rule`: the value in words. Finite
    neighbors need codes of different parity: every tie has an even side.
    """

    name: str
    table: tuple[float, ...]
    gap_beyond: float
    layouts: tuple[str, ...]
    rule: str
    ml_dtype: Any = None

    @property
    def bits(self) -> int:
        return (len(self.table) - 1).bit_length()

    @property
    def signed(self) -> bool:
        return min(self._finite) < 0

    @property
    def max(self) -> float:
        return float(self._finite[-1])

    @property
    def min(self) -> float:
        """Smallest value, not always -max: MXINT8 goes from -2 to 127/64."""
        return float(self._finite[0])

    @property
    def max_code(self) -> int:
        return int(self._codes[-1])

    @property
    def min_normal(self) -> float:
        """Smallest positive value: a table has no subnormals."""
        return self.min_subnormal

    @property
    def min_subnormal(self) -> float:
        return float(self._finite[self._finite > 0][0])

    @cached_property
    def inf_code(self) -> int | None:
        return self.table.index(np.inf) if np.inf in self.table else None

    @cached_property
    def nan_code(self) -> int | None:
        nan = np.flatnonzero(np.isnan(self.values))
        return int(nan[0]) if nan.size else None

    def layout(self, code: int) -> str:
        return self.layouts[whole(f"a code of {self.name}", code, 0, len(self.layouts) - 1)]

    @cached_property
    def values(self) -> Float64:
        return np.array(self.table, np.float64)

    @cached_property
    def _codes(self) -> Int64:
        finite = np.flatnonzero(np.isfinite(self.values))
        return finite[np.argsort(self.values[finite], kind="stable")]

    @cached_property
    def _finite(self) -> Float64:
        return self.values[self._codes]

    def ulp(self, x: ArrayLike) -> Float64:
        """float64, shape of x: gap between the finite values around |x| (the last gap beyond max)."""
        size = np.abs(reals("x", x).astype(np.float64, copy=False))
        above = np.searchsorted(self._finite, size, side="right")
        above = np.clip(above, 1, self._finite.size - 1)
        return self._finite[above] - self._finite[above - 1]

    def decode(self, codes: ArrayLike) -> Float64:
        return self.values[codes_of(self.name, self.bits, codes)]

    def encode(
        self,
        x: ArrayLike,
        rounding: Rounding = Rounding.NEAREST_EVEN,
        overflow: Overflow = Overflow.SATURATE,
        noise: Float64 | None = None,
    ) -> NDArray[Any]:
        x = reals("x", x).astype(np.float64, copy=False)
        nan = np.isnan(x)
        codes = self._codes_with_ends(instance("overflow", overflow, Overflow))
        code = codes[self._place(x, rounding, noise)]
        if nan.any():
            code = np.where(nan, code_for(self, Overflow.NAN), code)
        return code.astype(self.code_dtype)

    def rounded(self, x: ArrayLike) -> Float64:
        x = reals("x", x).astype(np.float64, copy=False)
        nearest = self._finite[np.searchsorted(self._turns, x, side="right")]
        nan = np.isnan(x)
        return np.where(nan, x, nearest) if nan.any() else nearest

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Smallest and largest number that do not overflow: a tie goes to the even code."""
        half = self.gap_beyond / 2
        low, high = float(self._finite[0]) - half, float(self._finite[-1]) + half
        return (
            float(np.nextafter(low, np.inf)) if self._codes[0] & 1 else low,
            float(np.nextafter(high, -np.inf)) if self._codes[-1] & 1 else high,
        )

    @cached_property
    def _turns(self) -> Float64:
        """float64[values - 1]: smallest number that rounds up, between neighboring values."""
        low, high = self._finite[:-1], self._finite[1:]
        middle = (low + high) / 2
        return np.where(self._codes[1:] & 1, np.nextafter(middle, np.inf), middle)

    def rounds_beyond(self, x: ArrayLike) -> Bools:
        x = reals("x", x).astype(np.float64, copy=False)
        low, high = self._ends
        return (x < low) | (x > high)

    def _place(self, x: Float64, rounding: Rounding, noise: Float64 | None) -> Int64:
        """Places that x rounds to among the finite values, from 1; 0 and the last place overflow.

        NaN has the place of 0.
        """
        grid = self._finite
        grid = np.concatenate([[grid[0] - self.gap_beyond], grid, [grid[-1] + self.gap_beyond]])
        codes = self._codes_with_ends(Overflow.SATURATE)
        nan = np.isnan(x)
        inside = np.clip(np.where(nan, 0.0, x), grid[0], grid[-1])
        low = np.clip(np.searchsorted(grid, inside, side="right") - 1, 0, grid.size - 2)
        near, far = np.where(inside >= 0, low, low + 1), np.where(inside >= 0, low + 1, low)
        odd = codes[near] & 1
        steps = odd + (inside - grid[near]) / (grid[far] - grid[near])
        return np.where(round_steps(steps, rounding, noise) - odd >= 1, far, near)

    def _codes_with_ends(self, overflow: Overflow) -> Int64:
        """Codes of the finite values in order, between the overflow codes."""
        above = code_for(self, overflow)
        match overflow:
            case Overflow.SATURATE:
                below = int(self._codes[0])
            case Overflow.INF:
                below = self.table.index(-np.inf)
            case Overflow.NAN:
                below = above
        return np.concatenate([[below], self._codes, [above]])
