"""Speeds of libraries that no package registry has, as they were measured once: assets/bench/quoted.toml."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from kernels.bench.job import GemmJob
from kernels.paths import RECORDS
from kernels.typed import Positive, from_data

_FILE = RECORDS / "quoted.toml"


@dataclass(frozen=True, kw_only=True)
class Quoted:
    """A library's speed on one GEMM, and that of torch's op in the same run."""

    library: str
    job: GemmJob
    tflop_s: Positive
    torch_tflop_s: Positive
    gpu: str
    date: str
    source: str

    @property
    def ratio(self) -> float:
        """The library's speed over that of torch's op."""
        return self.tflop_s / self.torch_tflop_s


def quoted(path: Path = _FILE) -> tuple[Quoted, ...]:
    """Every quoted speed. Raises ValueError for an entry that is none."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["figures"]
    return tuple(from_data(Quoted, entry) for entry in entries)
