"""The shipped tables of plans, one an architecture: the best blocks by `python -m kernels.measure tune`.

tuned/sm_90.json holds {"measurements": [{gpu, date, versions}], "plans": [{family, shape, mnk, blocks,
median_us, measurement}]}. family: Numerics.family. shape: shape_class. mnk: the timed sizes. median_us: time
of a hot launch. measurement: a place in the first list.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import msgspec

from kernels.gemm.blocks import Blocks
from kernels.paths import TUNED
from kernels.typed import Count, Positive, from_data

FOLDER = TUNED
_SIDE = 128


def shape_class(mnk: tuple[int, int, int], sms: int) -> str:
    """M, N and K in coarse steps.

    rows: M rounded up to 16, 32 … 256, or 512 for more. waves: the 128 × 128 blocks of D for each SM, rounded
    up to a power of two from 2^-3 to 2^4; under 2^0, SMs stand idle unless K is split or blocks are smaller.
    depth: K rounded up to 256, 1024, 4096 or 16384.
    """
    m, n, k = mnk
    blocks = -(-m // _SIDE) * -(-n // _SIDE)
    rows = next((most for most in (16, 32, 64, 128, 256) if m <= most), 512)
    waves = next((power for power in range(-3, 4) if blocks <= sms * 2.0**power), 4)
    depth = next((most for most in (256, 1024, 4096) if k <= most), 16384)
    return f"rows≤{rows} waves≤2^{waves} depth≤{depth}"


@dataclass(frozen=True, kw_only=True)
class Measurement:
    gpu: str
    date: str
    versions: Mapping[str, str] = field(hash=False)


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """The best blocks for a family and a shape class, among the simple variants or among the others."""

    family: str
    shape: Annotated[str, msgspec.Meta(pattern=r"^rows≤\d+ waves≤2\^-?\d+ depth≤\d+$")]
    mnk: tuple[Count, Count, Count]
    blocks: Blocks
    median_us: Positive
    measurement: Measurement


def table_path(capability: tuple[int, int]) -> Path:
    return FOLDER / f"{architecture(capability)}.json"


def architecture(capability: tuple[int, int]) -> str:
    """Name of a compute capability: (9, 0) is sm_90."""
    return f"sm_{capability[0]}{capability[1]}"


def read_table(path: Path) -> tuple[Tuned, ...]:
    """The plans of a table; none for no file. Raises ValueError naming the file and the fault."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        rows = [row | {"measurement": data["measurements"][row["measurement"]]} for row in data["plans"]]
        return tuple(from_data(Tuned, row) for row in rows)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise ValueError(f"{path.name} is not a table of plans: {error!s}") from error


@lru_cache(maxsize=16)
def table(capability: tuple[int, int]) -> Mapping[str, tuple[Tuned, ...]]:
    families: dict[str, list[Tuned]] = {}
    for row in read_table(table_path(capability)):
        families.setdefault(row.family, []).append(row)
    return {family: tuple(rows) for family, rows in families.items()}
