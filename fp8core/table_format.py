"""A number format given by the value of each of its codes, for those that five integers do not describe.

HiF8 spends its mantissa bits where numbers are frequent; MXINT8 is an integer over a power of two. Both have
the interface of `fp8core.float_format.Format`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp8core.float_format import check_codes
from fp8core.rounding import Overflow, Rounding, round_steps


@dataclass(frozen=True, kw_only=True)
class TableFormat:
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
    def bytes(self) -> int:
        """Bytes of a code stored by itself."""
        return self.code_dtype.itemsize

    @property
    def code_dtype(self) -> np.dtype[Any]:
        return np.min_scalar_type(len(self.table) - 1)

    @property
    def signed(self) -> bool:
        return min(self._finite) < 0

    @property
    def max(self) -> float:
        return float(self._finite[-1])

    @property
    def e_max(self) -> int:
        """Exponent of the largest finite number."""
        return int(np.frexp(self.max)[1]) - 1

    @property
    def max_code(self) -> int:
        """Code of the largest finite value."""
        return int(self._codes[-1])

    @property
    def min_subnormal(self) -> float:
        """Smallest positive value."""
        return float(self._finite[self._finite > 0][0])

    @property
    def inf_code(self) -> int:
        """Code of +infinity. Raises ValueError for a format that has none."""
        if np.inf not in self.table:
            raise ValueError(f"{self.name} has no code for infinity")
        return self.table.index(np.inf)

    @property
    def nan_code(self) -> int:
        """Code of NaN. Raises ValueError for a format that has none."""
        nan = np.flatnonzero(np.isnan(self.values))
        if not nan.size:
            raise ValueError(f"{self.name} has no code for NaN")
        return int(nan[0])

    @property
    def overflows(self) -> tuple[Overflow, ...]:
        """The overflow policies that the format has codes for."""
        has_inf, has_nan = np.isinf(self.values).any(), np.isnan(self.values).any()
        return (
            Overflow.SATURATE,
            *((Overflow.INF,) if has_inf else ()),
            *((Overflow.NAN,) if has_nan else ()),
        )

    def layout(self, code: int) -> str:
        """The role of each bit of a code, from the top."""
        return self.layouts[code]

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
        above = np.searchsorted(self._finite, np.abs(np.asarray(x, np.float64)), side="right")
        above = np.clip(above, 1, self._finite.size - 1)
        return self._finite[above] - self._finite[above - 1]

    def decode(self, codes: ArrayLike) -> NDArray[np.float64]:
        """float64, shape of codes: the exact value of each code. Raises ValueError for a code too large."""
        return self.values[check_codes(self.name, self.bits, codes)]

    def encode(
        self,
        x: ArrayLike,
        rounding: Rounding = Rounding.NEAREST_EVEN,
        overflow: Overflow = Overflow.SATURATE,
        noise: NDArray[np.float64] | None = None,
    ) -> NDArray[Any]:
        """Codes of x, rounded once from float64 between the two finite values around it; arguments and errors
        as for `Format.encode`.
        """
        x = np.asarray(x, np.float64)
        nan = np.isnan(x)
        grid, codes = self._with_overflow(overflow)
        known = np.clip(np.where(nan, 0.0, x), grid[0], grid[-1])
        low = np.clip(np.searchsorted(grid, known, side="right") - 1, 0, grid.size - 2)
        near, far = np.where(known >= 0, low, low + 1), np.where(known >= 0, low + 1, low)
        odd = codes[near] & 1
        steps = odd + (known - grid[near]) / (grid[far] - grid[near])
        code = codes[np.where(round_steps(steps, rounding, noise) - odd >= 1, far, near)]
        if nan.any():
            code = np.where(nan, self.nan_code, code)
        return code.astype(self.code_dtype)

    def _with_overflow(self, overflow: Overflow) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Finite values and codes in order, with the value and code that stand for overflow at either end."""
        grid, codes = self._finite, self._codes
        match overflow:
            case Overflow.SATURATE:
                ends = codes[0], codes[-1]
            case Overflow.INF:
                positive = self.inf_code
                ends = self.table.index(-np.inf), positive
            case Overflow.NAN:
                ends = self.nan_code, self.nan_code
        grid = np.concatenate([[grid[0] - self.gap_beyond], grid, [grid[-1] + self.gap_beyond]])
        return grid, np.concatenate([[ends[0]], codes, [ends[1]]])
