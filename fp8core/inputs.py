"""Seeded inputs with the statistics of training: the picture and the kernel are fed the same numbers.

An experiment names one kind of input. Its three tensors differ by role: `kind_of` gives the kinds of x, w and
dy. Outlier channels belong to activations. Weights have none, and their size follows from fan-in.
"""

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from fp8core.checks import instance, whole
from fp8core.linear import LayerTensor


class InputKind(Enum):
    """The distribution of the elements of a tensor."""

    GAUSSIAN = "gaussian"
    OUTLIER_CHANNELS = "outlier_channels"
    OUTLIER_TOKENS = "outlier_tokens"
    HEAVY_TAIL = "heavy_tail"
    GRADIENT_LIKE = "gradient_like"


@dataclass(frozen=True)
class InputNote:
    """A kind in words: a title and the exact rule."""

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
    InputKind.OUTLIER_TOKENS: InputNote(
        "Outlier tokens",
        f"N(0, 1), with the first row (token) and every {OUTLIER_EVERY}th after it times {OUTLIER_FACTOR:g}, "
        "as massive activations have it (arXiv 2402.17762)",
    ),
    InputKind.HEAVY_TAIL: InputNote("Heavy tail", f"Student's t with {TAIL_FREEDOM} degrees of freedom"),
    InputKind.GRADIENT_LIKE: InputNote(
        "Gradient-like",
        f"N(0, 1) · {GRADIENT_SCALE:.3g}, each row (token) times its own exp({GRADIENT_SPREAD:g} · N(0, 1)): "
        "tiny values whose size differs from token to token",
    ),
}


def kind_of(kind: InputKind, tensor: LayerTensor) -> InputKind:
    """The kind of x, w or dy in an experiment with inputs of `kind`.

    Raises ValueError for another tensor, which is a result.
    """
    own = {
        LayerTensor.X: InputKind.GAUSSIAN if kind is InputKind.GRADIENT_LIKE else kind,
        LayerTensor.W: InputKind.HEAVY_TAIL if kind is InputKind.HEAVY_TAIL else InputKind.GAUSSIAN,
        LayerTensor.DY: InputKind.GAUSSIAN if kind is InputKind.GAUSSIAN else InputKind.GRADIENT_LIKE,
    }
    if tensor not in own:
        raise ValueError(f"an input is x, w or dy, got {tensor.value}")
    return own[tensor]


def rules(kind: InputKind) -> str:
    """The distribution of each tensor: a sentence each, the last without its full stop."""
    if kind is InputKind.GAUSSIAN:
        return f"x, w and dy: {INPUT_NOTES[kind].rule}"
    told = {tensor.value: INPUT_NOTES[kind_of(kind, tensor)].rule for tensor in _INPUTS}
    return ". ".join(
        f"{name}: {rule}" + (_FAN_IN if name == LayerTensor.W.value else "") for name, rule in told.items()
    )


_INPUTS = (LayerTensor.X, LayerTensor.W, LayerTensor.DY)
_FAN_IN = ", divided by √in. Weights have no outlier channels"


def draw_operand(
    kind: InputKind,
    tensor: LayerTensor,
    shape: tuple[int, int],
    seed: int,
    *,
    fan_in: int,
    outlier_every: int = OUTLIER_EVERY,
) -> NDArray[np.float32]:
    """float32[rows, columns] of x, w or dy in an experiment with inputs of `kind`, as stored.

    `fan_in` is the layer's `in`. Weights have the size 1/√in, which keeps y as large as x. Where all inputs
    are Gaussian, all three tensors have variance 1. Raises ValueError for another tensor.
    """
    x = draw(kind_of(kind, tensor), shape, seed, outlier_every)
    if tensor is LayerTensor.W and kind is not InputKind.GAUSSIAN:
        x /= np.float32(math.sqrt(max(fan_in, 1)))
    return x


def draw(
    kind: InputKind, shape: tuple[int, int], seed: int, outlier_every: int = OUTLIER_EVERY
) -> NDArray[np.float32]:
    """float32[rows, columns] of the kind; equal arguments give equal numbers.

    `outlier_every` columns hold one outlier channel, or as many rows one outlier token. Pass fewer than the
    default where a small corner of a tensor must show one. Raises ValueError for sizes, a seed or a
    distance that are no whole numbers.
    """
    whole("a seed", seed, 0), whole("the distance of outlier channels", outlier_every, 1)
    for size in shape:
        whole("a size of a tensor", size, 0)
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape, dtype=np.float32)
    match instance("kind", kind, InputKind):
        case InputKind.GAUSSIAN:
            pass
        case InputKind.OUTLIER_CHANNELS:
            x[:, outlier_every // 2 :: outlier_every] *= np.float32(OUTLIER_FACTOR)
        case InputKind.OUTLIER_TOKENS:
            x[::outlier_every] *= np.float32(OUTLIER_FACTOR)
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
    """float32[blocks, size]: rows from N(0, 1), scaled so that log2 of each row's amax is spread over [0, 1).

    Each stretch of 1 / blocks holds one row's log2. The rows are in no order.
    """
    whole("the number of blocks", blocks, 1), whole("the size of a block", size, 1), whole("a seed", seed, 0)
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((blocks, size))
    octave = (rng.permutation(blocks) + rng.random(blocks)) / blocks
    return (x / np.abs(x).max(axis=1, keepdims=True) * np.exp2(octave)[:, None]).astype(np.float32)
