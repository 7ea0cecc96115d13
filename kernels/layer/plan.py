"""A recipe for a layer: which of its matmuls reads x, w and dy as which operand. No torch, no GPU.

Two matmuls read each tensor, one along its rows and one down its columns, from memory of their own.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from weakref import WeakValueDictionary

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, OPERANDS, LayerTensor, Matmul, Side
from fp8core.recipes import RECIPES, MatmulSpec, Operand, Recipe
from fp8core.recipes.text import from_text, to_text
from kernels.device import Unsupported
from kernels.quantize.facts import check_operand

PLACES = len(MATMULS) * len(Side)
"""Operands of a training step."""
MOST_RECIPES = 1 << 8
_DELAYED = (
    "a delayed scale is that of earlier steps, and a layer keeps nothing between steps: wrappers and "
    "checkpoints would lose it. Use per_tensor; the page Scaling shows delayed scales beside it"
)
_BF16 = FORMATS["bf16"]
_OUT = (_BF16, FORMATS["fp32"])


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One operand of one matmul. operand: None in bf16. place: 0 to PLACES - 1."""

    matmul: Matmul
    side: Side
    operand: Operand | None
    place: int

    @property
    def tensor(self) -> LayerTensor:
        return self.matmul.operand(self.side)

    @property
    def k_is_rows(self) -> bool:
        return self.matmul.k_is_rows(self.side)

    @cached_property
    def is_random(self) -> bool:
        return self.operand is not None and self.operand.spec.is_random


Readings = tuple[Reading, Reading]
"""A tensor's readings, in the order of matmuls."""


@dataclass(frozen=True, kw_only=True)
class Product:
    """A matmul of a recipe, and its operands.

    bf16_spec: D in bf16 even if the recipe has fp32: a later cast would read and write all of D again.
    """

    matmul: Matmul
    spec: MatmulSpec
    bf16_spec: MatmulSpec
    a: Reading
    b: Reading


@dataclass(frozen=True, kw_only=True)
class LayerPlan:
    """A recipe, resolved. key: its name or its line of text."""

    key: str
    recipe: Recipe
    emulate: bool
    x: Readings
    w: Readings
    dy: Readings
    fprop: Product
    dgrad: Product
    wgrad: Product
    is_random: bool


def refusal(recipe: Recipe) -> str | None:
    """Reason why no layer computes in a recipe, if any."""
    operands = [recipe.operand(matmul, side) for matmul in MATMULS.values() for side in Side]
    is_delayed = any(operand is not None and operand.spec.scale_rule.history for operand in operands)
    return _DELAYED if is_delayed else None


LAYER_RECIPES = {name: recipe for name, recipe in RECIPES.items() if refusal(recipe) is None}


def layer_plan(recipe: str | Recipe, emulate: bool) -> LayerPlan:
    """The plan of a recipe: its name, its line of text, or itself.

    Raises ValueError for another recipe; Unsupported for one without kernels, unless it is emulated.
    """
    if isinstance(recipe, Recipe):
        return _plan(_key(recipe), bool(emulate))
    if not isinstance(recipe, str):
        raise ValueError(f"a recipe is a name or a Recipe, got {type(recipe).__name__}")
    return _plan(recipe, bool(emulate))


_own: WeakValueDictionary[str, Recipe] = WeakValueDictionary()
"""Recipes of one's own by line, while a plan has them: from_text refuses some lines."""


def _key(recipe: Recipe) -> str:
    published = RECIPES.get(recipe.name)
    if published == recipe:
        return recipe.name
    line = to_text(recipe)
    _own.setdefault(line, recipe)
    return line


@lru_cache(maxsize=MOST_RECIPES)
def _plan(key: str, emulate: bool) -> LayerPlan:
    recipe = _recipe(key)
    if (reason := refusal(recipe)) is not None:
        raise Unsupported(reason)
    for matmul in MATMULS.values():
        if (out := recipe.spec(matmul).out) not in _OUT:
            raise Unsupported(f"a layer's {matmul.d.value} comes in bf16 or fp32, not in {out.name}")
    by_tensor = {tensor.value: readings(recipe, tensor) for tensor in OPERANDS}
    every = {(each.matmul, each.side): each for pair in by_tensor.values() for each in pair}
    for reading in every.values():
        if not emulate and reading.operand is not None and (reason := check_operand(reading.operand.spec)):
            raise Unsupported(f"{reason}; emulate=True computes by the reference's rules")

    def product(matmul: Matmul) -> Product:
        spec = recipe.spec(matmul)
        a, b = (every[matmul, side] for side in Side)
        return Product(matmul=matmul, spec=spec, bf16_spec=replace(spec, out=_BF16), a=a, b=b)

    return LayerPlan(
        key=key,
        recipe=recipe,
        emulate=emulate,
        **by_tensor,
        **{matmul.name: product(matmul) for matmul in MATMULS.values()},
        is_random=any(reading.is_random for reading in every.values()),
    )


def _recipe(key: str) -> Recipe:
    if recipe := RECIPES.get(key) or _own.get(key):
        return recipe
    try:
        return from_text(key)
    except ValueError as error:
        raise ValueError(
            f"no recipe is called {key[:80]!r}: there are {', '.join(RECIPES)}; "
            "one's own is given as a Recipe"
        ) from error


def readings(recipe: Recipe, tensor: LayerTensor) -> Readings:
    places = [(matmul, side) for matmul in MATMULS.values() for side in Side]
    first, second = (
        Reading(matmul=matmul, side=side, operand=recipe.operand(matmul, side), place=place)
        for place, (matmul, side) in enumerate(places)
        if matmul.operand(side) is tensor
    )
    return first, second
