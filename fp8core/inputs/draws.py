"""Seeded inputs with the statistics of training, equal for picture and kernel.

`kind_of` gives the kinds of an experiment's x, w and dy: outlier channels belong to activations; weights have
none, and their size follows from fan-in. A recorded kind has a tensor for each.
"""

import math

import numpy as np

from fp8core.arrays import Float32
from fp8core.checks import instance, whole
from fp8core.inputs import recorded
from fp8core.inputs.kinds import (
    GRADIENT_SCALE,
    GRADIENT_SPREAD,
    INPUT_NOTES,
    OUTLIER_EVERY,
    OUTLIER_FACTOR,
    RECORDED,
    TAIL_FREEDOM,
    InputKind,
)
from fp8core.linear import OPERANDS, LayerTensor


def kind_of(kind: InputKind, tensor: LayerTensor) -> InputKind:
    """Kind of x, w or dy in an experiment. Raises ValueError for a result."""
    if tensor not in OPERANDS:
        raise ValueError(f"an input is x, w or dy, got {tensor.value}")
    if kind in RECORDED:
        return kind
    own = {
        LayerTensor.X: InputKind.GAUSSIAN if kind is InputKind.GRADIENT_LIKE else kind,
        LayerTensor.W: InputKind.HEAVY_TAIL if kind is InputKind.HEAVY_TAIL else InputKind.GAUSSIAN,
        LayerTensor.DY: InputKind.GAUSSIAN if kind is InputKind.GAUSSIAN else InputKind.GRADIENT_LIKE,
    }
    return own[tensor]


def rules(kind: InputKind) -> str:
    """Distribution of each tensor, a sentence each, the last without its full stop."""
    if kind is InputKind.GAUSSIAN or kind in RECORDED:
        return f"x, w and dy: {INPUT_NOTES[kind].rule}"
    rule_of = {tensor.value: INPUT_NOTES[kind_of(kind, tensor)].rule for tensor in OPERANDS}
    return ". ".join(
        f"{name}: {rule}" + (_FAN_IN if name == LayerTensor.W.value else "") for name, rule in rule_of.items()
    )


_FAN_IN = ", divided by √in. Weights have no outlier channels"


def draw_operand(
    kind: InputKind,
    tensor: LayerTensor,
    shape: tuple[int, int],
    seed: int,
    *,
    fan_in: int,
    outlier_every: int = OUTLIER_EVERY,
) -> Float32:
    """float32[rows, columns] of x, w or dy in an experiment, as stored.

    `fan_in`: the layer's `in`. Weights have the size 1/√in, which keeps y as large as x; all-Gaussian inputs
    have variance 1; a recorded tensor keeps its size. Raises ValueError for a result.
    """
    x = draw(kind_of(kind, tensor), shape, seed, outlier_every, tensor=tensor)
    if tensor is LayerTensor.W and kind is not InputKind.GAUSSIAN and kind not in RECORDED:
        x /= np.float32(math.sqrt(max(fan_in, 1)))
    return x


def draw(
    kind: InputKind,
    shape: tuple[int, int],
    seed: int,
    outlier_every: int = OUTLIER_EVERY,
    *,
    tensor: LayerTensor = LayerTensor.X,
    outlier_factor: float = OUTLIER_FACTOR,
) -> Float32:
    """float32[rows, columns] of the kind; equal arguments give equal numbers.

    One of `outlier_every` columns, or rows, is an outlier, `outlier_factor` times larger: pass less than the
    default for a small corner. `tensor` counts for a recorded kind only. Raises ValueError for sizes, a seed
    or a distance that are no whole numbers.
    """
    whole("a seed", seed, 0), whole("the distance of outlier channels", outlier_every, 1)
    for size in shape:
        whole("a size of a tensor", size, 0)
    if instance("kind", kind, InputKind) in RECORDED:
        return recorded.repeated(recorded.tensor(*RECORDED[kind], tensor), shape, seed)
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape, dtype=np.float32)
    match kind:
        case InputKind.GAUSSIAN:
            pass
        case InputKind.OUTLIER_CHANNELS:
            x[:, outlier_every // 2 :: outlier_every] *= np.float32(outlier_factor)
        case InputKind.OUTLIER_TOKENS:
            x[::outlier_every] *= np.float32(outlier_factor)
        case InputKind.HEAVY_TAIL:
            chi_square = np.zeros(shape, np.float32)
            for _ in range(TAIL_FREEDOM // 2):
                chi_square += 2 * rng.standard_exponential(shape, dtype=np.float32)
            x /= np.sqrt(chi_square / np.float32(TAIL_FREEDOM))
        case InputKind.GRADIENT_LIKE:
            spread = np.exp(GRADIENT_SPREAD * rng.standard_normal((shape[0], 1), dtype=np.float32))
            x *= np.float32(GRADIENT_SCALE) * spread
    return x


def stretch(kind: InputKind, tensor: LayerTensor, count: int, seed: int) -> Float32:
    """float32[count] of a recorded kind: neighbors in memory of x, w or dy.

    `seed` draws the first row; they repeat after the last. Raises ValueError for a law.
    """
    if kind not in RECORDED:
        raise ValueError(f"elements that follow each other are those of a recorded kind, got {kind.value}")
    return recorded.stretch(*RECORDED[kind], tensor, whole("the number of elements", count, 0), seed)


def log_uniform_blocks(blocks: int, size: int, seed: int) -> Float32:
    """float32[blocks, size]: rows from N(0, 1), scaled so that log2 amax is spread over [0, 1).

    Each stretch of 1 / blocks holds one row's. Rows are in random order.
    """
    whole("the number of blocks", blocks, 1), whole("the size of a block", size, 1), whole("a seed", seed, 0)
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((blocks, size))
    octave = (rng.permutation(blocks) + rng.random(blocks)) / blocks
    return (x / np.abs(x).max(axis=1, keepdims=True) * np.exp2(octave)[:, None]).astype(np.float32)
