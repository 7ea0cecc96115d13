"""Exercises about tiles: one scale a line, one a square, and scales of two levels."""

from collections.abc import Iterator

import numpy as np

from fp8core.arrays import Float32
from fp8core.exercises.exercise import Case, exercise
from fp8core.linear import MATMULS, Side
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES, Operand


def quantize_1x128(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantize x, float32[rows, columns], with one scale for 128 numbers of a row.

    Columns are a multiple of 128. Return q, float32[rows, columns], the E4M3 values before scaling back,
    and the scales, float32[rows, columns / 128]: x is about q * scale. In float32: scale = amax / 448, then
    q = x * (1 / scale), rounded by .astype(ml_dtypes.float8_e4m3fn). A tile of zeros has the scale 2**-126.
    """
    raise NotImplementedError


def quantize_128x128(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantize w, float32[rows, columns], with one scale for a square of 128 x 128, as weights are.

    Both sizes are multiples of 128. Return q, float32[rows, columns], and the scales,
    float32[rows / 128, columns / 128]. The order of operations is that of quantize_1x128.
    """
    raise NotImplementedError


def quantize_nvfp4(x: np.ndarray) -> tuple[np.float32, np.ndarray, np.ndarray]:
    """Quantize x, float32[rows, columns], as NVFP4 does: an E4M3 scale for 16 numbers of a row, and one
    float32 scale for the tensor. Columns are a multiple of 16, and x is not all zeros.

    In float32, with amax_t the tensor's amax and amax a tile's:
        enc   = (6 * 448) / amax_t                       # brings amax_t to the top of both formats
        s     = e4m3(min(amax * (enc * (1 / 6)), 448))   # float32[rows, columns / 16]
        outer = 1 / enc                                  # the tensor's scale
        q     = e2m1(clip(x * (1 / (s * outer)), -6, 6)) # float32[rows, columns]
    Where s is 0, q is 0. Return outer, s, q. .astype(ml_dtypes.float4_e2m1fn) rounds to E2M1.
    """
    raise NotImplementedError


def _samples(operand: Operand, rows: int, columns: int) -> Iterator[tuple[Float32, str]]:
    """Tensors that expose one mistake each, with its description."""
    mn, k = operand.spec.tile.mn or 1, operand.spec.tile.k or 1
    draw = np.random.default_rng(3)
    steps = np.zeros((rows, columns), np.float32)
    steps[:, :] = np.repeat(np.repeat(2.0 ** np.arange(rows // mn), mn)[:, None], columns, axis=1)
    steps *= np.repeat(3.0 ** np.arange(columns // k), k)[None, :].astype(np.float32)
    yield steps, "Here every tile has one number: rows and columns of tiles must not change places."
    normal = draw.normal(size=(rows, columns)).astype(np.float32)
    yield normal, "amax is taken over one tile only, and q is x times the reciprocal, rounded once."
    outlier = normal.copy()
    outlier[0, 1] = -500.0
    yield (
        outlier,
        "An outlier makes the scale of its own tile large, and no other. Its sign does not count.",
    )
    zeros = normal.copy()
    zeros[:mn, :k] = 0.0
    yield zeros, "The first tile holds zeros only: its scale must not make a division by zero."


def _one_level(side: Side) -> Iterator[Case]:
    operand = RECIPES["deepseek_v3"].operand(MATMULS["fprop"], side)
    rows = 2 * (operand.spec.tile.mn or 1) if side is Side.B else 3
    for x, lesson in _samples(operand, rows, 2 * (operand.spec.tile.k or 1)):
        tensor = quantize(x.copy(), operand)
        q = tensor.spec.format.decode(tensor.codes)
        yield Case(arguments=(x,), expected={"q": q, "array of scales": tensor.scale}, lesson=lesson)


@exercise(quantize_nvfp4, "Scales of two levels", page="tile_layouts?recipe=nvfp4_1x16")
def nvfp4() -> Iterator[Case]:
    operand, _ = RECIPES["nvfp4_1x16"].operands(MATMULS["fprop"])
    for x, lesson in _samples(operand, 4, 3 * (operand.spec.tile.k or 1)):
        tensor = quantize(x.copy(), operand)
        outer = tensor.scales.outer
        expected = {
            "tensor's scale": np.float32(0) if outer is None else outer.reshape(()),
            "array of scales": tensor.scale,
            "q": tensor.spec.format.decode(tensor.codes),
        }
        yield Case(arguments=(x,), expected=expected, lesson=lesson)


@exercise(quantize_1x128, "One scale for 128 numbers of a row", page="tile_layouts")
def line() -> Iterator[Case]:
    return _one_level(Side.A)


@exercise(quantize_128x128, "One scale for a square", page="tile_layouts")
def square() -> Iterator[Case]:
    return _one_level(Side.B)


TILES = (line, square, nvfp4)
