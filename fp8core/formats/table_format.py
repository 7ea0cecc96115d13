"""A number format given by the value of each of its codes, for those that five integers do not describe.

HiF8 spends its mantissa bits where numbers are frequent; MXINT8 is an integer over a power of two.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp8core.checks import codes_of, instance, reals, whole
from fp8core.formats.protocol import Format, code_for
from fp8core.rounding import Overflow, Rounding, round_steps


@dataclass(frozen=True, kw_only=True)
class TableFormat(Format):
    """`table[code]` is the value of each code, infinities and NaN included; no two finite values are equal.

    `gap_beyond` is the step from the last value to the one that would follow: rounding to that one overflows.
    `layouts[code]` has a letter for each bit of the code, from the top: S sign, D dot field, E exponent,
    M mantissa, I integer. `rule` says in words how the bits give the value.
    Finite neighbors in value must have codes of different parity, so that every tie has an even side.
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
        """The smallest value, which need not be minus the largest: MXINT8 goes down to -2, up to 127/64."""
        return float(self._finite[0])

    @property
    def max_code(self) -> int:
        """Code of the largest finite value."""
        return int(self._codes[-1])

    @property
    def min_normal(self) -> float:
        """Smallest positive value: a table has no subnormal numbers."""
        return self.min_subnormal

    @property
    def min_subnormal(self) -> float:
        return float(self._finite[self._finite > 0][0])

    @cached_property
    def inf_code(self) -> int | None:
        """Code of +infinity."""
        return self.table.index(np.inf) if np.inf in self.table else None

    @cached_property
    def nan_code(self) -> int | None:
        nan = np.flatnonzero(np.isnan(self.values))
        return int(nan[0]) if nan.size else None

    def layout(self, code: int) -> str:
        """The role of each bit of a code, from the top."""
        return self.layouts[whole(f"a code of {self.name}", code, 0, len(self.layouts) - 1)]

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """float64[2**bits]: the value of every code."""
        return np.array(self.table, np.float64)

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        """Codes of the finite values in the order of the values."""
        finite = np.flatnonzero(np.isfinite(self.values))
        return finite[np.argsort(self.values[finite], kind="stable")]

    @cached_property
    def _finite(self) -> NDArray[np.float64]:
        return self.values[self._codes]

    def ulp(self, x: ArrayLike) -> NDArray[np.float64]:
        """float64, shape of x: the gap between the finite values around |x| (the last gap beyond max)."""
        size = np.abs(reals("x", x).astype(np.float64, copy=False))
        above = np.searchsorted(self._finite, size, side="right")
        above = np.clip(above, 1, self._finite.size - 1)
        return self._finite[above] - self._finite[above - 1]

    def decode(self, codes: ArrayLike) -> NDArray[np.float64]:
        """float64, shape of codes: the exact value of each code. Raises ValueError for a code too large."""
        return self.values[codes_of(self.name, self.bits, codes)]

    def encode(
        self,
        x: ArrayLike,
        rounding: Rounding = Rounding.NEAREST_EVEN,
        overflow: Overflow = Overflow.SATURATE,
        noise: NDArray[np.float64] | None = None,
    ) -> NDArray[Any]:
        """Codes of x, rounded once from float64 between the two finite values around it, as in
        `Format.encode`.
        """
        x = reals("x", x).astype(np.float64, copy=False)
        nan = np.isnan(x)
        codes = self._codes_with_ends(instance("overflow", overflow, Overflow))
        code = codes[self._place(x, rounding, noise)]
        if nan.any():
            code = np.where(nan, code_for(self, Overflow.NAN), code)
        return code.astype(self.code_dtype)

    def rounded(self, x: ArrayLike) -> NDArray[np.float64]:
        """float64, shape of x: the value of each number's code, as in `Format.rounded`."""
        x = reals("x", x).astype(np.float64, copy=False)
        nearest = self._finite[np.searchsorted(self._turns, x, side="right")]
        nan = np.isnan(x)
        return np.where(nan, x, nearest) if nan.any() else nearest

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """The smallest and the largest number that do not round beyond the last values: a tie goes to the
        even code.
        """
        half = self.gap_beyond / 2
        low, high = float(self._finite[0]) - half, float(self._finite[-1]) + half
        return (
            float(np.nextafter(low, np.inf)) if self._codes[0] & 1 else low,
            float(np.nextafter(high, -np.inf)) if self._codes[-1] & 1 else high,
        )

    @cached_property
    def _turns(self) -> NDArray[np.float64]:
        """float64[values - 1]: the smallest number that rounds up, between each value and the next."""
        low, high = self._finite[:-1], self._finite[1:]
        middle = (low + high) / 2
        return np.where(self._codes[1:] & 1, np.nextafter(middle, np.inf), middle)

    def rounds_beyond(
        self,
        x: ArrayLike,
        rounding: Rounding = Rounding.NEAREST_EVEN,
        noise: NDArray[np.float64] | None = None,
    ) -> NDArray[np.bool_]:
        """bool, shape of x: whether x rounds beyond the format's last value on its side."""
        x = reals("x", x).astype(np.float64, copy=False)
        if rounding is Rounding.NEAREST_EVEN and noise is None:
            low, high = self._ends
            return (x < low) | (x > high)
        place = self._place(x, rounding, noise)
        return (place == 0) | (place == self._codes.size + 1)

    def _place(
        self, x: NDArray[np.float64], rounding: Rounding, noise: NDArray[np.float64] | None
    ) -> NDArray[np.int64]:
        """Where x rounds to in the order of the finite values, from 1; 0 and the last place are beyond them.
        NaN goes where 0 does.
        """
        grid = self._finite
        grid = np.concatenate([[grid[0] - self.gap_beyond], grid, [grid[-1] + self.gap_beyond]])
        codes = self._codes_with_ends(Overflow.SATURATE)
        nan = np.isnan(x)
        known = np.clip(np.where(nan, 0.0, x), grid[0], grid[-1])
        low = np.clip(np.searchsorted(grid, known, side="right") - 1, 0, grid.size - 2)
        near, far = np.where(known >= 0, low, low + 1), np.where(known >= 0, low + 1, low)
        odd = codes[near] & 1
        steps = odd + (known - grid[near]) / (grid[far] - grid[near])
        return np.where(round_steps(steps, rounding, noise) - odd >= 1, far, near)

    def _codes_with_ends(self, overflow: Overflow) -> NDArray[np.int64]:
        """Codes of the finite values in order, with the code that stands for overflow at either end."""
        above = code_for(self, overflow)
        match overflow:
            case Overflow.SATURATE:
                below = int(self._codes[0])
            case Overflow.INF:
                below = self.table.index(-np.inf)
            case Overflow.NAN:
                below = above
        return np.concatenate([[below], self._codes, [above]])
