"""Passes over a tensor: which copies one program can write, and the bytes that each strategy moves."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import isqrt, prod

from fp8core.costs import copy_cost
from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, OPERANDS, LayerShape, LayerTensor
from fp8core.reach import Home, Reach, joined, reach
from fp8core.recipes import Copy, Recipe
from fp8core.tiles import WHOLE, Extent
from kernels.bench.ceilings.peak_rates import PeakRates, Rate
from kernels.quantize.plan import HELD

SIDE = isqrt(HELD)
"""Rows and columns of a square block that one program holds."""
_BF16_BYTES = FORMATS["bf16"].packed_bits // 8


@dataclass(frozen=True, kw_only=True)
class Producer:
    """A step that writes a tensor, and the numbers that one of its programs holds."""

    title: str
    rows: Extent
    columns: Extent

    def may_quantize(self, needed: Reach) -> bool:
        """True if a program of this step has seen all that a code waits for."""
        return needed.earlier or needed.lies_in(self.rows, self.columns)

    def verdict(self, needed: Reach) -> str:
        """A word or two: this step can quantize on its way out, with a second read of its input, or not."""
        if self.may_quantize(needed):
            return "yes"
        is_long = self.columns is WHOLE and needed.home is Home.TILE
        return "reads twice" if is_long else "no"


BY_ROWS = Producer(title="RMSNorm, by rows", rows=1, columns=WHOLE)
BY_BLOCKS = Producer(title="SwiGLU or a matmul, by blocks", rows=SIDE, columns=SIDE)
PRODUCERS = (BY_ROWS, BY_BLOCKS)


class Strategy(Enum):
    """A way to quantize a tensor that has several copies or layouts."""

    APART = "two passes per copy"
    FEWEST = "each copy in few passes"
    TOGETHER = "all copies in one read"
    BEFORE = "in the step that writes it"


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Bytes that quantizing moves: bf16 read for amax, bf16 read to be cast, codes and scales written."""

    amax: int = 0
    cast: int = 0
    codes: int = 0
    scales: int = 0

    @property
    def total(self) -> int:
        return self.amax + self.cast + self.codes + self.scales

    def __add__(self, other: "Traffic") -> "Traffic":
        return Traffic(**{name: size + getattr(other, name) for name, size in vars(self).items()})


@dataclass(frozen=True, kw_only=True)
class Passes:
    """One quantized copy of a recipe, and the numbers that its codes wait for."""

    copy: Copy
    reach: Reach


def copies_of(recipe: Recipe, tensor: LayerTensor) -> tuple[Passes, ...]:
    """The copies of a stored tensor; none where both readers take it in bf16."""
    return tuple(Passes(copy=copy, reach=reach(copy.operand)) for copy in recipe.quantized_copies(tensor))


def together(copies: Sequence[Passes]) -> Reach:
    """What the codes of all these copies wait for. Raises ValueError for none."""
    return joined(one.reach for one in copies)


def traffic(recipe: Recipe, tensor: LayerTensor, layer: LayerShape, strategy: Strategy) -> Traffic:
    """Bytes that quantizing one tensor moves; 0 where it stays bf16."""
    copies, shape = copies_of(recipe, tensor), layer.of(tensor)
    if not copies:
        return Traffic()
    once = _BF16_BYTES * prod(shape)
    costs = [copy_cost(one.copy, layer) for one in copies]
    amax, casts = _reads(copies, shape, strategy)
    return Traffic(
        amax=amax * once,
        cast=casts * once,
        codes=sum(cost.code_bytes for cost in costs),
        scales=sum(cost.scale_bytes for cost in costs),
    )


def _reads(copies: Sequence[Passes], shape: tuple[int, int], strategy: Strategy) -> tuple[int, int]:
    """How often a tensor is read to find amax, and how often to be cast."""
    layouts = sum(len(one.copy.k_major) for one in copies)
    every = together(copies)
    match strategy:
        case Strategy.APART:
            return sum(not one.reach.earlier for one in copies), layouts
        case Strategy.FEWEST:
            return sum(one.reach.reads(shape, HELD) - 1 for one in copies), layouts
        case Strategy.TOGETHER:
            return every.reads(shape, HELD) - 1, 1
        case Strategy.BEFORE:
            # The step before knows its amax as it writes; where that is not enough, a cast pass remains.
            return 0, 0 if BY_BLOCKS.may_quantize(every) else 1


def layer_traffic(recipe: Recipe, layer: LayerShape, strategy: Strategy) -> Traffic:
    """Bytes that quantizing x, w and dy moves for one training step."""
    return sum((traffic(recipe, tensor, layer, strategy) for tensor in OPERANDS), Traffic())


def least_us(moved: int, rates: PeakRates) -> float:
    """The time that memory needs for so many bytes."""
    return moved / rates.memory_gb_s / 1e3


def matmuls_us(layer: LayerShape, rates: PeakRates) -> float:
    """The least time of the layer's three matmuls at the GPU's highest rate of eight bits, or of bf16."""
    peak = rates.tflop_s[Rate.FP8] or rates.tflop_s[Rate.BF16] or 0.0
    return len(MATMULS) * 2 * layer.tokens * layer.in_ * layer.out / peak / 1e6
