"""The blocks for a GEMM, among the candidates of all bodies: by measurements nearby, and by the cost model.

A measured plan wins at its own shape, and at a shape nearby where the model agrees with it within the error
of its fit. A body that was never measured runs only where no other can. Every candidate is made for the shape
at hand: its runs of K, the height of its blocks, and its programs are. Pure; no torch.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from kernels.device import Device
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.bodies import tries
from kernels.gemm.cost.constants import constants_of
from kernels.gemm.cost.facts import Facts
from kernels.gemm.cost.model import predict_us
from kernels.gemm.cost.work import work_of
from kernels.gemm.meaning import Meaning
from kernels.gemm.tuned import Tuned, near, table

Mnk = tuple[int, int, int]

_KEPT = 4096
_UNEVEN_DOUBT = 0.02
"""Part of a prediction that is added to it where parts are uneven. Of 139 GEMMs on an H200, 2026-11-27, 7
were slower with them by 1 to 5%, where the model had promised 1 or 2%. With this doubt, one was.
"""


@dataclass(frozen=True, slots=True)
class Predicted:
    """Blocks and the microseconds that a launch with them should take."""

    us: float
    blocks: Blocks


@dataclass(frozen=True, slots=True)
class Chosen:
    """Blocks, and a sentence on why it is these."""

    blocks: Blocks
    why: str


def ranked(meaning: Meaning, mnk: Mnk, device: Device, bodies: Collection[Body]) -> list[Predicted]:
    """All candidates of these bodies, the fastest first. One whose rate is a guess counts as a little slower,
    and so does one with uneven parts.

    Raises ValueError where there are no constants.
    """
    constants = constants_of(device)
    facts = Facts.of(meaning)
    made = []
    for blocks in dict.fromkeys(found for body in bodies for found in tries(body, meaning, mnk, device)):
        work = work_of(meaning, blocks, mnk, device, facts)
        doubt = constants.rate(work.variant).doubt + _UNEVEN_DOUBT * work.uneven
        made.append(Predicted(predict_us(work, constants) * (1 + doubt), blocks))
    return sorted(made, key=lambda each: each.us)


@lru_cache(maxsize=_KEPT)
def chosen(meaning: Meaning, mnk: Mnk, device: Device, bodies: frozenset[Body]) -> Chosen:
    """The blocks to run.

    Raises ValueError for a shape without a measurement where there are no constants, or no candidates.
    """
    rows, unread = _measured(meaning, mnk, device, bodies)
    if rows and rows[0].mnk == mnk:
        return Chosen(rows[0].blocks, f"the best blocks measured on {_source(rows[0])}, for this shape")
    order = [body for body in Body if body in bodies]
    constants = constants_of(device)
    order = [body for body in order if body.value in constants.bodies] or order
    found = ranked(meaning, mnk, device, order)
    if not found:
        raise ValueError("no body has candidates for it")
    best, by_blocks = found[0], {each.blocks: each.us for each in found}
    for row in rows:
        if by_blocks.get(row.blocks, float("inf")) <= best.us * (1 + constants.error.median):
            sizes = " × ".join(map(str, row.mnk))
            return Chosen(row.blocks, f"the best blocks measured on {_source(row)}, for {sizes}")
    why = f"the fastest of {len(found)} candidates by the cost model of {constants.gpu}"
    return Chosen(best.blocks, f"{why}: about {best.us:.3g} µs{unread}")


def _measured(
    meaning: Meaning, mnk: Mnk, device: Device, bodies: Collection[Body]
) -> tuple[tuple[Tuned, ...], str]:
    """The measured rows of shapes nearby, the nearest first; and what is wrong with their table."""
    if device.capability is None:
        return (), ""
    try:
        rows = table(device.capability).get(str(meaning.family), ())
    except ValueError as error:
        return (), f"; {error}"
    return near([row for row in rows if row.blocks.body in bodies], mnk), ""


def _source(row: Tuned) -> str:
    return f"{row.measurement.gpu}, {row.measurement.date}"
