"""Seeded operands of dot products, whose terms show an accumulator's effect on small ones."""

from enum import Enum

import numpy as np

from fp8core.arrays import Float64
from fp8core.checks import instance, whole
from fp8core.inputs.recorded import Note, has_tensors, layer_of_seed, repeated, tensor
from fp8core.linear import MATMULS, Matmul, Side

LARGE = 16.0
LARGE_AT, GONE_AT = 0, 48


class TermKind(Enum):
    ZERO_MEAN = "zero_mean"
    SAME_SIGN = "same_sign"
    ONE_LARGE = "one_large"
    CANCELED = "canceled"
    REAL_FPROP = "real_fprop"
    REAL_DGRAD = "real_dgrad"
    REAL_WGRAD = "real_wgrad"


REAL_TERMS = {TermKind(f"real_{name}"): matmul for name, matmul in MATMULS.items()}
"""Matmul of each recorded kind."""
OFFERED_TERMS = tuple(kind for kind in TermKind if kind not in REAL_TERMS or has_tensors())
_LARGE_TERM = f"product {LARGE_AT} is {LARGE:g} · {LARGE:g}"

TERM_NOTES: dict[TermKind, Note] = {
    TermKind.ZERO_MEAN: Note("Zero mean", "a and b from N(0, 1), so that signs cancel"),
    TermKind.SAME_SIGN: Note(
        "Same sign", "a and b uniform between 0 and 1, so that every product is positive"
    ),
    TermKind.ONE_LARGE: Note("One large term", f"a and b from N(0, 1), but {_LARGE_TERM}"),
    TermKind.CANCELED: Note(
        "Large, then canceled",
        f"a and b from N(0, 1), but {_LARGE_TERM} and product {GONE_AT} is minus that",
    ),
} | {
    kind: Note(
        f"Real: {matmul.d.value}",
        f"lines of {matmul.a.value} and {matmul.b.value} of a layer of a small language model that trains, "
        "each tensor over its rms; the seed chooses the layer, and a longer K goes on in other lines",
    )
    for kind, matmul in REAL_TERMS.items()
}


def draw_terms(kind: TermKind, rows: tuple[int, int], k: int, seed: int) -> tuple[Float64, Float64]:
    """float64 a[rows[0], K] and b[rows[1], K]; equal arguments give equal numbers.

    A longer K begins with the numbers of a shorter one.
    """
    instance("kind", kind, TermKind)
    for what, value in (("rows of a", rows[0]), ("rows of b", rows[1]), ("k", k), ("a seed", seed)):
        whole(what, value, 0)
    if kind in REAL_TERMS:
        return _real_terms(REAL_TERMS[kind], rows, k, seed)
    rng = np.random.default_rng(seed)
    shape = (k, sum(rows))
    x = (rng.uniform(0, 1, shape) if kind is TermKind.SAME_SIGN else rng.standard_normal(shape)).T
    a, b = x[: rows[0]].copy(), x[rows[0] :].copy()
    if kind in (TermKind.ONE_LARGE, TermKind.CANCELED):
        a[:, LARGE_AT : LARGE_AT + 1] = b[:, LARGE_AT : LARGE_AT + 1] = LARGE
    if kind is TermKind.CANCELED:
        a[:, GONE_AT : GONE_AT + 1], b[:, GONE_AT : GONE_AT + 1] = -LARGE, LARGE
    return a, b


def _real_terms(matmul: Matmul, rows: tuple[int, int], k: int, seed: int) -> tuple[Float64, Float64]:
    part, step = layer_of_seed(seed)
    operands = []
    for place, (side, count) in enumerate(zip(Side, rows, strict=True)):
        x = tensor(part, step, matmul.operand(side)).astype(np.float64)
        lines = x.T if matmul.k_is_rows(side) else x
        # Another seed for each side: their lines are not to repeat together.
        operands.append(repeated(lines, (count, k), 2 * seed + place) / np.sqrt(np.mean(x**2)))
    return operands[0], operands[1]
