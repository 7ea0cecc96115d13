"""Recipes drawn at random from all that can be written, and wrong files made of right ones."""

import random
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

from fp8core.accumulators import ACCUMULATORS
from fp8core.recipes import RECIPES, Family, MatmulSpec, OperandSpec, Recipe
from fp8core.recipes.plain import ELEMENTS, OUTS, OWN_NAME, OWN_TITLE, ROTATIONS, SCALES, Plain
from fp8core.recipes.text import to_text
from fp8core.rotations import NVFP4_SIGNS, Rotation, RotationKind
from fp8core.rounding import Rounding
from fp8core.scales import NO_SEARCH, Fit, OuterScale, ScaleRule
from fp8core.tiles import WHOLE, Extent, TileShape

Chance = random.Random
EXTENTS = (1, 1, 8, 16, 32, 128, WHOLE, 7)
NUMBERS = (0.0, 0.5, 1.5, 4 / 3, 6.0, 1e-12, 2.0**-20, 256.0, 1e30)


def drawn(chance: Chance, build: Callable[[Chance], Any]) -> Any:
    """What `build` makes of random choices; those that a constructor refuses are drawn again."""
    for _ in range(200):
        try:
            return build(chance)
        except ValueError:
            continue
    raise AssertionError(f"{build.__name__} refused 200 draws")


def random_recipe(chance: Chance) -> Recipe:
    matmuls = {name: drawn(chance, random_matmul) for name in ("fprop", "dgrad", "wgrad")}
    return Recipe(
        name=chance.choice(("own", "mine_2", "a")),
        title=chance.choice(("Your own recipe", "É1 × 32, ½", "t")),
        family=chance.choice(list(Family)),
        source=chance.choice(("", "Rouhani et al., arXiv 2310.10537")),
        remark=chance.choice(("", "It's a remark.")),
        **matmuls,
    )


def random_matmul(chance: Chance) -> MatmulSpec:
    if chance.random() < 0.3:
        published = chance.choice(list(RECIPES.values()))
        return chance.choice((published.fprop, published.dgrad, published.wgrad))
    rotation = random_rotation(chance) if chance.random() < 0.4 else None
    a, b = (random_operand(chance, rotation) for _ in range(2))
    return MatmulSpec(
        a=None if rotation is None and chance.random() < 0.2 else a,
        b=None if rotation is None and chance.random() < 0.2 else b,
        accumulator=chance.choice(list(ACCUMULATORS.values())),
        out=chance.choice(list(OUTS.values())),
    )


def random_operand(chance: Chance, rotation: Rotation | None = None) -> OperandSpec:
    def build(chance: Chance) -> OperandSpec:
        saved = chance.random() < 0.2
        return OperandSpec(
            format=chance.choice(list(ELEMENTS.values())),
            tile=random_tile(chance),
            scale_rule=random_rule(chance),
            rounding=chance.choice(list(Rounding)),
            rotation=rotation,
            saved_as=random_operand(chance) if saved else None,
        )

    return drawn(chance, build)


def random_tile(chance: Chance) -> TileShape:
    extents: list[Extent] = [chance.choice(EXTENTS) for _ in range(2)]
    return TileShape(*extents)


def random_rotation(chance: Chance) -> Rotation:
    kind = chance.choice(list(ROTATIONS.values()))
    size = len(NVFP4_SIGNS) if kind is RotationKind.NVFP4_HADAMARD else 1 << chance.randint(0, 8)
    return Rotation(kind, size, chance.choice((0, 7, 2**32 - 1)))


def random_rule(chance: Chance) -> ScaleRule:
    def build(chance: Chance) -> ScaleRule:
        outer = None
        if chance.random() < 0.3:
            outer = OuterScale(
                tile=random_tile(chance),
                inner_max=chance.choice((None, 1.0, 1.5, 256.0, 1e30)),
                constant=chance.choice((None, None, *NUMBERS)),
            )
        return ScaleRule(
            format=chance.choice(list(SCALES.values())),
            fit=chance.choice(list(Fit)),
            amax_floor=chance.choice((0.0, 0.0, *NUMBERS)),
            outer=outer,
            history=chance.choice((0, 0, 0, 16, 1024)),
            search=chance.choice((NO_SEARCH, NO_SEARCH, (1.0, 1.5), tuple(chance.sample(NUMBERS[1:], 3)))),
            target=chance.choice((None, None, 15.0, *NUMBERS)),
        )

    return drawn(chance, build)


WRONG_VALUES = (
    float("nan"),
    float("inf"),
    1e400,
    -1,
    10**40,
    0.3,
    1e-300,
    "e9m9",
    "",
    "<script>alert(1)</script>",
    "![](http://a.b/c.png)",
    [],
    [[[]]],
    {},
    {"k": 1},
    True,
    "x" * 5000,
    "\x00",
    "\ud800",
)
"""Each is wrong for almost every field of a recipe."""


def leaves(node: Any, path: str = "") -> list[str]:
    """The paths of all fields, those that hold an object too."""
    if isinstance(node, dict):
        below = [leaf for key, child in node.items() for leaf in leaves(child, f"{path}.{key}")]
        return ([path] if path else []) + below
    return [path]


def put(data: Plain, path: str, value: object) -> Plain:
    """The data with another value at a path."""
    *parents, last = path.strip(".").split(".")
    changed = deepcopy(data)
    node = changed
    for key in parents:
        node = node[key]
    node[last] = value
    return changed


def own_text(recipe: Recipe) -> str:
    """Line of a recipe of one's own with these specs."""
    own = replace(recipe, name=OWN_NAME, title=OWN_TITLE, family=Family.OWN, source="", remark="")
    return to_text(own)
