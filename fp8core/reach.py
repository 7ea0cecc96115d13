"""Reach of a code: the numbers whose amax decides its scale, and the passes over a tensor.

A program that holds all numbers of a tile reads the tensor once. Otherwise one pass finds the amax, and
another writes codes. A delayed scale takes the amax of earlier steps.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from fp8core.recipes import Operand
from fp8core.tiles import WHOLE, Extent, TileGrid


class Home(Enum):
    EARLIER = "earlier steps"
    TILE = "a tile"
    LINE = "a whole row or column"
    TENSOR = "the whole tensor"


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Numbers of a stored tensor read before a code is written: `rows` by `columns`.

    `earlier`: the amax is that of earlier steps, so a code waits for no other number.
    """

    rows: Extent
    columns: Extent
    earlier: bool = False

    @property
    def home(self) -> Home:
        if self.earlier:
            return Home.EARLIER
        return (Home.TILE, Home.LINE, Home.TENSOR)[(self.rows, self.columns).count(WHOLE)]

    def numbers(self, shape: tuple[int, int]) -> int:
        """Count them in a stored tensor of `shape` (rows, columns)."""
        tall, wide = TileGrid.over(shape, (self.rows, self.columns)).extents
        return min(tall, max(shape[0], 1)) * min(wide, max(shape[1], 1))

    def lies_in(self, rows: Extent, columns: Extent) -> bool:
        return _at_most(self.rows, rows) and _at_most(self.columns, columns)

    def reads(self, shape: tuple[int, int], capacity: int) -> int:
        """Passes over a tensor if one program holds at most `capacity` numbers: 1 or 2."""
        return 1 if self.numbers(shape) <= capacity else 2


def reach(operand: Operand) -> Reach:
    """Reach of an operand's codes on the stored tensor.

    Outer tiles, tiles of the saved copy and runs of a rotation count too.
    """
    spec = operand.spec
    if spec.scale_rule.history:
        return Reach(rows=1, columns=1, earlier=True)
    extents = [operand.tile]
    if spec.scale_rule.outer is not None and spec.scale_rule.has_fitted_outer:
        outer = spec.scale_rule.outer.tile
        extents.append(operand.stored((outer.mn, outer.k)))
    if spec.rotation is not None:
        extents.append(operand.stored((1, spec.rotation.size)))
    if operand.saved is not None:
        saved = reach(operand.saved)
        extents.append((saved.rows, saved.columns))
    return _over(extents)


def joined(reaches: Iterable[Reach]) -> Reach:
    """Reach of the codes of several copies written in one pass. Raises ValueError for none."""
    several = list(reaches)
    if not several:
        raise ValueError("the reach of several copies takes at least one, got none")
    over = _over([(one.rows, one.columns) for one in several])
    return Reach(rows=over.rows, columns=over.columns, earlier=all(one.earlier for one in several))


def _over(pairs: Iterable[tuple[Extent, Extent]]) -> Reach:
    rows, columns = (WHOLE if WHOLE in each else max(each) for each in zip(*pairs, strict=True))
    return Reach(rows=rows, columns=columns)


def _at_most(extent: Extent, limit: Extent) -> bool:
    return limit is WHOLE or (extent is not WHOLE and extent <= limit)
