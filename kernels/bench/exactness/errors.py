"""Errors of a result against fp64 truths, on the device, block by block so that memory stays bounded."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from kernels.bench.cost import BANDS, CAREFUL_FLOP
from kernels.bench.row import Worst
from kernels.gemm.factor import GemmOperand
from kernels.quantize import QuantizedTensor

MAP_BANDS = BANDS
WORST = 8
FLOP_LIMIT = CAREFUL_FLOP
"""Beyond this much fp64 work, the errors are taken over evenly spaced bands of rows of D."""

_BLOCK = 2048
_PRODUCTS = 2


@dataclass(frozen=True, kw_only=True)
class Errors:
    """The errors of a result, as kernels.bench.row.Row has them. `rows` says how many rows of D were
    compared.
    """

    rel_err: float
    quantization_rel_err: float
    kernel_rel_err: float
    error_map: tuple[tuple[float, ...], ...]
    worst: tuple[Worst, ...]
    rows: int


def errors(
    result: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    a_codes: GemmOperand,
    b_codes: GemmOperand,
    *,
    flop_limit: int | None = None,
    between: Callable[[], None] = lambda: None,
) -> Errors:
    """Errors of result [M, N] against a [M, K] · b [N, K]ᵀ and against the product of the quantized operands.

    All products and sums are in fp64. The map covers the bands of rows that were compared, to four digits.
    Beyond `flop_limit` (by default FLOP_LIMIT) of fp64 work, some bands are left out. `between()` is called
    before each band.
    """
    m, n = result.shape
    tall, wide = max(1, -(-m // MAP_BANDS)), max(1, -(-n // MAP_BANDS))
    work = 2 * _PRODUCTS * m * n * a.shape[1]
    every = max(1, -(-work // (flop_limit or FLOP_LIMIT)))
    tops = range(0, m, tall * every)
    sums = _Sums.zeros(len(tops), -(-n // wide), result.device)
    rows = 0
    columns = wide * max(1, _BLOCK // wide)
    for band, top in enumerate(tops):
        between()
        bottom = min(top + tall, m)
        rows += bottom - top
        left, left_codes = a[top:bottom].double(), exact_rows(a_codes, top, bottom)
        for start in range(0, n, columns):
            stop = min(start + columns, n)
            truth = left @ b[start:stop].double().T
            exact = left_codes @ exact_rows(b_codes, start, stop).T
            got = result[top:bottom, start:stop].double()
            sums.add(truth, exact, got, top, start, band, start // wide, wide)
    return sums.errors(rows * n, rows)


def exact_rows(operand: GemmOperand, start: int, stop: int) -> torch.Tensor:
    """float64[stop - start, K]: rows of what gemm is given, as the exact numbers they stand for."""
    if isinstance(operand, QuantizedTensor):
        return operand.exact_operand(start, stop)
    return operand[start:stop].double()


@dataclass
class _Sums:
    """Sums of squares so far, the map, and the worst elements."""

    squares: torch.Tensor
    patches: torch.Tensor
    worst: list[Worst] = field(default_factory=list)

    @classmethod
    def zeros(cls, bands: int, columns: int, device: torch.device) -> "_Sums":
        squares = torch.zeros(4, dtype=torch.float64, device=device)
        patches = torch.full((bands, columns), math.nan, dtype=torch.float64, device=device)
        return cls(squares, patches)

    def add(
        self,
        truth: torch.Tensor,
        exact: torch.Tensor,
        got: torch.Tensor,
        top: int,
        left: int,
        band: int,
        column: int,
        wide: int,
    ) -> None:
        error = (got - truth).abs()
        parts = (error, exact - truth, got - exact, truth)
        self.squares += torch.stack([part.square().sum() for part in parts])
        across = error.amax(0)
        patches = torch.nn.functional.pad(across, (0, -across.numel() % wide)).view(-1, wide).amax(1)
        self.patches[band, column : column + patches.numel()] = patches
        place = error.flatten().topk(min(WORST, error.numel())).indices
        rows, columns = place // error.shape[1], place % error.shape[1]
        found = torch.stack([rows + top, columns + left, truth[rows, columns], got[rows, columns]]).T
        self.worst += [Worst(m=int(i), n=int(j), truth=t, result=r) for i, j, t, r in found.tolist()]
        self.worst = sorted(self.worst, key=lambda worst: -abs(worst.result - worst.truth))[:WORST]

    def errors(self, elements: int, rows: int) -> Errors:
        error, quantization, kernel, truth = self.squares.sqrt().tolist()
        rms = truth / math.sqrt(elements) if elements else 0.0
        patches = (self.patches / rms if rms else self.patches).tolist()
        return Errors(
            rel_err=_ratio(error, truth),
            quantization_rel_err=_ratio(quantization, truth),
            kernel_rel_err=_ratio(kernel, truth),
            error_map=tuple(tuple(float(f"{patch:.4g}") for patch in band) for band in patches),
            worst=tuple(self.worst),
            rows=rows,
        )


def _ratio(error: float, size: float) -> float:
    """A ratio of error to truth: 0 where there is no error, infinite for an error on a truth of zero."""
    return 0.0 if error == 0 else error / size if size else math.inf
