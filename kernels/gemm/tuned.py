"""The shipped tables of plans, one an architecture: the best blocks by `python -m kernels.measure tune`.

tuned/sm_90.json holds {"measurements": [{gpu, date, versions}], "plans": [{family, shape, mnk, blocks,
median_us, measurement}]}. A plan has these fields:

- family: the text of Numerics.family.
- shape: the text of a ShapeClass.
- mnk: the sizes that were timed.
- median_us: the time of a hot launch.
- measurement: a place in the first list.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import log2
from pathlib import Path
from typing import Any

from kernels.gemm.blocks import Blocks
from kernels.gemm.shape_class import ShapeClass
from kernels.paths import TUNED
from kernels.typed import Count, Positive, from_data, to_data

FOLDER = TUNED
NEAR = 0.5
"""Doublings, at most, between each size of a shape and that of a shape nearby."""
SPREAD = 1.02
"""Medians within this factor count as equal, and then the warp-specialized variant is taken. The factor is a
judgment, not a measurement.
"""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """GPU, date and versions with which one run of the tuner measured its plans."""

    gpu: str
    date: str
    versions: Mapping[str, str] = field(hash=False)


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """The best blocks for a family and a shape class, among the simple variants or among the others."""

    family: str
    shape: ShapeClass
    mnk: tuple[Count, Count, Count]
    blocks: Blocks
    median_us: Positive
    measurement: Measurement

    @classmethod
    def read(cls, data: Mapping[str, Any], measurement: Measurement) -> "Tuned":
        """Read the data that `written` made of a plan. Raises ValueError naming what does not fit."""
        fields = {**data, "measurement": to_data(measurement)}
        if isinstance(fields.get("shape"), str):
            fields["shape"] = to_data(ShapeClass.parse(fields["shape"]))
        return from_data(cls, fields)

    def written(self) -> dict[str, Any]:
        """Give all fields but the measurement, as JSON data."""
        fields = to_data(self) | {"shape": str(self.shape)}
        del fields["measurement"]
        return fields


def table_path(capability: tuple[int, int]) -> Path:
    """Path of an architecture's table, even where there is no such file."""
    return FOLDER / f"{architecture(capability)}.json"


def architecture(capability: tuple[int, int]) -> str:
    """Name of a compute capability: (9, 0) is sm_90."""
    return f"sm_{capability[0]}{capability[1]}"


def read_table(path: Path) -> tuple[Tuned, ...]:
    """The plans of a table; none where there is no file. Raises ValueError naming the file and the fault."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        measurements = [from_data(Measurement, fields) for fields in data["measurements"]]
        return tuple(Tuned.read(row, measurements[row["measurement"]]) for row in data["plans"])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path.name} is not a table of plans: {error!s}") from error


@lru_cache(maxsize=16)
def table(capability: tuple[int, int]) -> Mapping[str, tuple[Tuned, ...]]:
    """The shipped plans of an architecture by family."""
    families: dict[str, list[Tuned]] = {}
    for row in read_table(table_path(capability)):
        families.setdefault(row.family, []).append(row)
    return {family: tuple(rows) for family, rows in families.items()}


def near(rows: Collection[Tuned], mnk: tuple[int, int, int]) -> tuple[Tuned, ...]:
    """The rows of shapes nearby, the nearest first. Rows of one shape: the fastest first; within SPREAD, a
    warp-specialized one first.
    """
    distances = [(_doublings(row.mnk, mnk), row) for row in rows]
    distances = [(far, row) for far, row in distances if far <= NEAR]
    best: dict[tuple[int, int, int], float] = {}
    for _, row in distances:
        best[row.mnk] = min(row.median_us, best.get(row.mnk, row.median_us))

    def order(item: tuple[float, Tuned]) -> tuple[object, ...]:
        far, row = item
        slower = row.median_us > best[row.mnk] * SPREAD
        return far, row.mnk, slower, row.blocks.variant.is_simple, row.median_us

    return tuple(row for _, row in sorted(distances, key=order))


def _doublings(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    """The most doublings between two shapes in one size."""
    return max(abs(log2(a / b)) if a and b else float(a != b) for a, b in zip(one, other, strict=True))
