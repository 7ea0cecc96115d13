"""The random draw of layers. A layer and a matmul give M, N and K."""

from collections.abc import Sequence
from random import Random

from fp8core.linear import LayerShape
from kernels.typed import whole

MAX_DRAWN = 10_000
MAX_TOKENS = 16_384
NARROWEST, WIDEST, LARGEST = 256, 32_768, 262_144
"""Features of a drawn layer: the least, the usual most, and the most of one layer in fifty."""
_STEP = 16
_ONE_IN = 50
_MOST_BESIDE = 8_192
"""The most features on the other side of a layer that is larger than usual: the width of a large model."""

# (in, out) of the linear layers of models, from each model's config.json.
_LLAMA_3 = (
    (4096, 6144),  # 8B: query, key and value
    (4096, 4096),
    (4096, 28672),  # gate and up
    (14336, 4096),
    (8192, 10240),  # 70B
    (8192, 8192),
    (8192, 57344),
    (28672, 8192),
)
_DEEPSEEK_V3 = (
    (7168, 1536),  # query, compressed
    (1536, 24576),
    (7168, 576),  # key and value, compressed
    (512, 32768),
    (16384, 7168),
    (7168, 36864),  # gate and up of a dense layer
    (18432, 7168),
    (7168, 4096),  # gate and up of an expert
    (2048, 7168),
)
_QWEN_3 = (
    (4096, 6144),  # 8B
    (4096, 24576),
    (12288, 4096),
    (5120, 10240),  # 32B
    (8192, 5120),
    (5120, 51200),
    (25600, 5120),
)
_QWEN_3_MOE = (
    (2048, 5120),  # 30B-A3B
    (4096, 2048),
    (2048, 1536),  # gate and up of an expert
    (768, 2048),
    (4096, 9216),  # 235B-A22B
    (8192, 4096),
    (4096, 3072),
    (1536, 4096),
)
MODELS = (_LLAMA_3, _DEEPSEEK_V3, _QWEN_3, _QWEN_3_MOE)


def draw_shapes(count: int, seed: int) -> tuple[LayerShape, ...]:
    """Layers of a seed, `count` of them; more of one seed begin with the same ones.

    - tokens: log-uniform from 1 to MAX_TOKENS, odd ones included.
    - in and out: half the layers are a model's. The others are log-uniform from NARROWEST to WIDEST, in
      multiples of 16.
    - One layer in fifty, the last of each fifty, has an in or an out from WIDEST to LARGEST.

    Raises ValueError for a count outside 0 to MAX_DRAWN, and for a seed below 0.
    """
    if not whole(count, 0, MAX_DRAWN):
        raise ValueError(f"the number of shapes is a whole number from 0 to {MAX_DRAWN}, got {count!r}")
    if not whole(seed, 0, 2**63 - 1):
        raise ValueError(f"the seed is a whole number from 0 to 2**63 - 1, got {seed!r}")
    dice = Random(seed)
    return tuple(_layer(dice, is_large=number % _ONE_IN == _ONE_IN - 1) for number in range(count))


def _layer(dice: Random, *, is_large: bool) -> LayerShape:
    tokens = round(_log_uniform(dice, 1, MAX_TOKENS))
    if is_large:
        features = [_features(dice, WIDEST, LARGEST), _features(dice, NARROWEST, _MOST_BESIDE)]
        in_, out = features if dice.random() < 0.5 else reversed(features)
    elif dice.random() < 0.5:
        in_, out = _one_of(dice, _one_of(dice, MODELS))
    else:
        in_, out = (_features(dice, NARROWEST, WIDEST) for _ in range(2))
    return LayerShape(tokens=tokens, in_=in_, out=out)


def _features(dice: Random, low: int, high: int) -> int:
    """A log-uniform multiple of 16."""
    return round(_log_uniform(dice, low, high) / _STEP) * _STEP


def _log_uniform(dice: Random, low: int, high: int) -> float:
    return low * (high / low) ** dice.random()


def _one_of(dice: Random, several: Sequence) -> tuple:
    # By random() alone: Python promises its numbers for a seed from version to version, no other method's.
    return several[int(dice.random() * len(several))]
