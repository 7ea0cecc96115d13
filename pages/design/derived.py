"""What follows from a recipe's line and costs time to find: each is found once a line.

A line is looked up faster than a recipe, whose formats have tables.
"""

from dataclasses import dataclass
from functools import lru_cache

from fp8core.costs import CopyCost, bits_per_element, copy_cost, matmul_rescales
from fp8core.experiments.designs import mean_bits, nearest_published
from fp8core.linear import MATMULS, OPERANDS, LayerTensor, Side
from fp8core.recipes import Copy
from fp8core.recipes.text import own_recipe
from kernels.bench.shapes import LAYER
from kernels.device import BLACKWELL, HOPPER
from pages.design.rule import Verdict, verdict
from pages.design.runs import Answer, answers

_KEPT = 256
SIZES = f"tokens = {LAYER.tokens:,}, in = {LAYER.in_:,}, out = {LAYER.out:,}"


@dataclass(frozen=True, kw_only=True)
class MatmulFacts:
    """One matmul: the rule's verdict, the rescales of an output, bits an element of A and of B."""

    verdict: Verdict
    rescales: int
    bits: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A recipe in a layer of the sizes SIZES.

    `copies` are those that a step keeps, each with its tensor and cost; `matmuls` are by name; `able` has for
    each GPU the names of the matmuls for which there is a kernel body.
    """

    copies: tuple[tuple[LayerTensor, Copy, CopyCost], ...]
    matmuls: dict[str, MatmulFacts]
    bits: float
    able: dict[str, tuple[str, ...]]

    @property
    def bytes(self) -> int:
        """Bytes of all copies."""
        return sum(cost.code_bytes + cost.scale_bytes for _, _, cost in self.copies)

    def copies_of(self, tensor: LayerTensor) -> int:
        return sum(one is tensor for one, _, _ in self.copies)


@lru_cache(maxsize=_KEPT)
def facts(line: str) -> Facts:
    """The facts of the recipe of a line."""
    recipe = own_recipe(line)
    copies = tuple(
        (tensor, copy, copy_cost(copy, LAYER))
        for tensor in OPERANDS
        for copy in recipe.quantized_copies(tensor)
    )
    matmuls = {}
    for name, matmul in MATMULS.items():
        spec = recipe.spec(matmul)
        a, b = (
            bits_per_element(recipe.operand(matmul, side), LAYER.of(matmul.operand(side))) for side in Side
        )
        rescales = matmul_rescales(recipe, matmul, LAYER) if spec.quantized else 0
        rule = verdict(spec, LAYER.size(matmul.k))
        matmuls[name] = MatmulFacts(verdict=rule, rescales=rescales, bits=(a, b))
    told = runs(line)
    able = {
        device.name: tuple(
            name for name in MATMULS if any(one.device == device.name and one.can for one in told[name])
        )
        for device in (HOPPER, BLACKWELL)
    }
    return Facts(copies=copies, matmuls=matmuls, bits=mean_bits(recipe, LAYER), able=able)


@lru_cache(maxsize=_KEPT)
def nearest(line: str) -> tuple[str, ...]:
    """The names of the two published recipes of the nearest bits an element."""
    return tuple(recipe.name for recipe in nearest_published(own_recipe(line), LAYER))


@lru_cache(maxsize=_KEPT)
def runs(line: str) -> dict[str, tuple[Answer, ...]]:
    """The places that can run each matmul, or why not, by its name."""
    recipe = own_recipe(line)
    return {name: answers(recipe.spec(matmul), matmul.mnk(LAYER)) for name, matmul in MATMULS.items()}
