"""A tile of numbers in eight bits, without a scale and with one."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fp8core.formats import FORMATS, Format
from fp8core.inputs import InputKind, draw
from fp8core.linear import FPROP, Side
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES

COUNT, SEED = 32, 0
SHOWN = 0
"""The place of the number whose bits are shown."""
_RECIPE = RECIPES["per_tensor_e4m3"]
_SPEC = _RECIPE.spec(FPROP).operand(Side.A)
EIGHT: Format = _SPEC.format
SIXTEEN: tuple[Format, ...] = (FORMATS["fp16"], FORMATS["bf16"])
_POWERS_KEPT = 64


@dataclass(frozen=True, kw_only=True, eq=False)
class Tile:
    """float64[COUNT] numbers, as they are, as codes without a scale, and as codes that share one scale."""

    numbers: NDArray[np.float64]
    plain_codes: NDArray[np.unsignedinteger]
    plain: NDArray[np.float64]
    scale: float
    scaled_codes: NDArray[np.unsignedinteger]
    scaled: NDArray[np.float64]

    @property
    def zeros_plain(self) -> int:
        """The numbers that become zero without a scale."""
        return int(np.sum(self.plain == 0))

    @property
    def zeros_scaled(self) -> int:
        """The numbers that become zero with a scale."""
        return int(np.sum(self.scaled == 0))

    @property
    def is_beyond(self) -> NDArray[np.bool_]:
        """True for the numbers beyond the largest value, which they become without a scale."""
        return np.abs(self.numbers) > EIGHT.max


@lru_cache(maxsize=_POWERS_KEPT)
def tile(power: int) -> Tile:
    """The tile whose numbers have the size 2**`power`."""
    x = draw(InputKind.GAUSSIAN, (1, COUNT), SEED) * np.float32(2.0**power)
    scaled = quantize(x, _RECIPE.grid(FPROP, Side.A, x.shape), _SPEC)
    plain_codes = EIGHT.encode(x[0])
    return Tile(
        numbers=x[0].astype(np.float64),
        plain_codes=plain_codes,
        plain=EIGHT.decode(plain_codes),
        scale=float(scaled.scale.item()),
        scaled_codes=scaled.codes[0],
        scaled=scaled.values()[0].astype(np.float64),
    )
