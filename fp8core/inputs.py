"""Inputs whose statistics training shows, seeded: the picture and the kernel are fed the same numbers."""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray


class InputKind(Enum):
    """What the elements of a tensor are drawn from."""

    GAUSSIAN = "gaussian"
    OUTLIER_CHANNELS = "outlier_channels"
    HEAVY_TAIL = "heavy_tail"
    GRADIENT_LIKE = "gradient_like"


@dataclass(frozen=True)
class InputNote:
    """The kind in words: a title and the exact rule."""

    title: str
    rule: str


OUTLIER_FACTOR = 50.0
OUTLIER_EVERY = 97
TAIL_FREEDOM = 4
GRADIENT_SCALE = 2.0**-20
GRADIENT_SPREAD = 2.0

INPUT_NOTES: dict[InputKind, InputNote] = {
    InputKind.GAUSSIAN: InputNote("Gaussian", "every element from N(0, 1)"),
    InputKind.OUTLIER_CHANNELS: InputNote(
        "Outlier channels",
        f"N(0, 1), with every {OUTLIER_EVERY}th column (feature) times {OUTLIER_FACTOR:g}, as activations "
        "of large language models have it",
    ),
    InputKind.HEAVY_TAIL: InputNote("Heavy tail", f"Student's t with {TAIL_FREEDOM} degrees of freedom"),
    InputKind.GRADIENT_LIKE: InputNote(
        "Gradient-like",
        f"N(0, 1) · {GRADIENT_SCALE:.3g}, each row (token) times its own exp({GRADIENT_SPREAD:g} · N(0, 1)): "
        "tiny values whose size differs from token to token",
    ),
}


def draw(
    kind: InputKind, shape: tuple[int, int], seed: int, outlier_every: int = OUTLIER_EVERY
) -> NDArray[np.float32]:
    """float32[rows, columns] of the kind; equal arguments give equal numbers.

    `outlier_every` columns hold one outlier channel: fewer than the default where a small corner of a tensor
    is to show one.
    """
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape, dtype=np.float32)
    match kind:
        case InputKind.GAUSSIAN:
            pass
        case InputKind.OUTLIER_CHANNELS:
            x[:, outlier_every // 2 :: outlier_every] *= np.float32(OUTLIER_FACTOR)
        case InputKind.HEAVY_TAIL:
            chi_square = np.zeros(shape, np.float32)
            for _ in range(TAIL_FREEDOM // 2):
                chi_square += 2 * rng.standard_exponential(shape, dtype=np.float32)
            x /= np.sqrt(chi_square / np.float32(TAIL_FREEDOM))
        case InputKind.GRADIENT_LIKE:
            spread = np.exp(GRADIENT_SPREAD * rng.standard_normal((shape[0], 1), dtype=np.float32))
            x *= np.float32(GRADIENT_SCALE) * spread
    return x


def log_uniform_blocks(blocks: int, size: int, seed: int) -> NDArray[np.float32]:
    """float32[blocks, size]: N(0, 1) with each row scaled to a largest |element| whose log2 is uniform on
    [0, 1): one row in every 1 / blocks of it, in no order.
    """
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((blocks, size))
    octave = (rng.permutation(blocks) + rng.random(blocks)) / blocks
    return (x / np.abs(x).max(axis=1, keepdims=True) * np.exp2(octave)[:, None]).astype(np.float32)
