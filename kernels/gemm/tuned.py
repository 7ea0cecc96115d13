"""The shipped tables of plans, one an architecture: the best blocks by `python -m kernels.measure tune`.

tuned/sm_90.json holds {"measurements": [{gpu, date, versions}], "plans": [{family, shape, mnk, blocks,
median_us, measurement}]}. family: Numerics.family. shape: a ShapeClass. mnk: the timed sizes. median_us: time
of a hot launch. measurement: a place in the first list.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from kernels.gemm.blocks import Blocks
from kernels.paths import TUNED
from kernels.typed import Count, Positive, from_data, to_data

FOLDER = TUNED
_MIN_ROWS, _MAX_ROWS = 16, 512
_SIDE = 128
_MIN_WAVES, _MAX_WAVES = -3, 4
_MIN_DEPTH, _MAX_DEPTH, _DEPTH_STEP = 256, 16384, 4
_NAME = re.compile(r"rows≤(\d+) waves≤2\^(-?\d+) depth≤(\d+)")


@dataclass(frozen=True, order=True)
class ShapeClass:
    """M, N and K in coarse steps. rows: M rounded up to 16, 32 … 256, or 512 for more.

    waves: log2 of the 128 × 128 blocks of D for each SM, rounded up, from -3 to 4; under 0, SMs stand idle
    unless K is split or blocks are smaller. depth: K rounded up to 256, 1024, 4096 or 16384.
    """

    rows: int
    waves: int
    depth: int

    @classmethod
    def of(cls, mnk: tuple[int, int, int], sms: int) -> "ShapeClass":
        m, n, k = mnk
        rows = _MIN_ROWS
        while rows < min(m, _MAX_ROWS):
            rows *= 2
        blocks = -(-m // _SIDE) * -(-n // _SIDE)
        waves = _MIN_WAVES
        while waves < _MAX_WAVES and blocks > sms * 2.0**waves:
            waves += 1
        depth = _MIN_DEPTH
        while depth < min(k, _MAX_DEPTH):
            depth *= _DEPTH_STEP
        return cls(rows, waves, depth)

    @classmethod
    def parse(cls, name: str) -> "ShapeClass":
        """The inverse of str. Raises ValueError for another text."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise ValueError(f"a shape class reads like {cls(_MAX_ROWS, 0, _MAX_DEPTH)}, got {name!r}")
        return cls(*(int(part) for part in match.groups()))

    def __str__(self) -> str:
        return f"rows≤{self.rows} waves≤2^{self.waves} depth≤{self.depth}"


@dataclass(frozen=True, kw_only=True)
class Measurement:
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
        """The inverse of `written`. Raises ValueError naming what does not fit."""
        fields = {**data, "measurement": to_data(measurement)}
        if isinstance(fields.get("shape"), str):
            fields["shape"] = to_data(ShapeClass.parse(fields["shape"]))
        return from_data(cls, fields)

    def written(self) -> dict[str, Any]:
        fields = to_data(self) | {"shape": str(self.shape)}
        del fields["measurement"]
        return fields


def table_path(capability: tuple[int, int]) -> Path:
    return FOLDER / f"{architecture(capability)}.json"


def architecture(capability: tuple[int, int]) -> str:
    """Name of a compute capability: (9, 0) is sm_90."""
    return f"sm_{capability[0]}{capability[1]}"


def read_table(path: Path) -> tuple[Tuned, ...]:
    """The plans of a table; none for no file. Raises ValueError naming the file and the fault."""
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
    families: dict[str, list[Tuned]] = {}
    for row in read_table(table_path(capability)):
        families.setdefault(row.family, []).append(row)
    return {family: tuple(rows) for family, rows in families.items()}
