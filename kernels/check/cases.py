"""The distinct cases of a check: recipes that ask the same of a kernel are checked once. Needs no torch."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import product

from fp8core.linear import Matmul, Side
from fp8core.recipes import RECIPES, Family, MatmulSpec, Operand, Recipe
from kernels.device import HOPPER, Unsupported
from kernels.gemm.meaning import Summation, meaning_of


@dataclass(frozen=True, kw_only=True)
class DistinctGemm:
    """One GEMM to check, and the names of the `others`: GEMMs whose operands a kernel multiplies alike."""

    recipe: Recipe
    matmul: Matmul
    others: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name in a report."""
        return name_of(self.recipe, self.matmul)


def name_of(recipe: Recipe, matmul: Matmul) -> str:
    """The name of a recipe's matmul in a report."""
    return f"{recipe.name} {matmul.name}"


def distinct_gemms(matmuls: Iterable[Matmul]) -> tuple[DistinctGemm, ...]:
    """The GEMMs of all recipes, matmul by matmul; of those that are multiplied alike, the first."""
    alike: dict[Hashable, list[tuple[Recipe, Matmul]]] = {}
    for matmul, recipe in product(matmuls, RECIPES.values()):
        alike.setdefault(multiplied_as(recipe.spec(matmul)), []).append((recipe, matmul))
    return tuple(
        DistinctGemm(recipe=first[0], matmul=first[1], others=tuple(name_of(*other) for other in rest))
        for first, *rest in alike.values()
    )


@dataclass(frozen=True, kw_only=True)
class DistinctOperand:
    """One operand to quantize, under the name of the first GEMM that has it."""

    name: str
    operand: Operand


def operands_by_family(matmul: Matmul) -> tuple[DistinctOperand, ...]:
    """The first operand of a matmul in the first recipe of each family that quantizes it."""
    found: dict[Family, DistinctOperand] = {}
    for recipe in RECIPES.values():
        operand = recipe.operand(matmul, Side.A)
        if operand is not None:
            named = DistinctOperand(name=f"{name_of(recipe, matmul)} {Side.A.value}", operand=operand)
            found.setdefault(recipe.family, named)
    return tuple(found.values())


def multiplied_as(spec: MatmulSpec) -> Hashable:
    """Equal for matmuls that kernels cannot tell apart; what differs between them is the quantizer's."""
    meaning = meaning_of(spec, HOPPER, Summation.RECIPE)
    return meaning.reason if isinstance(meaning, Unsupported) else meaning.seen
