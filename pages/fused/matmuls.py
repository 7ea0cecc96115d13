"""Matmuls that quantize their own operands: why none does here, and what two that did were measured at."""

import tomllib
from dataclasses import dataclass
from functools import cache

from kernels.bench.job import GemmJob
from kernels.paths import RECORDS
from kernels.typed import Count, Positive, from_data
from pages.kit.origins import Measured, recorded_on, told, told_versions

_FILE = RECORDS / "fused_matmuls.toml"


@dataclass(frozen=True, kw_only=True)
class Times:
    """Microseconds of a matmul that quantizes, and of a quantizer and a matmul one after the other."""

    fused_us: Positive
    apart_us: Positive

    @property
    def ratio(self) -> float:
        """Time over that of two kernels; below 1 fusing pays."""
        return self.fused_us / self.apart_us


@dataclass(frozen=True, kw_only=True)
class FusedMatmuls:
    """Recorded times of a matmul that quantizes A as it loads it (a), and of one that quantizes D as it
    stores it (d).
    """

    job: GemmJob
    a: Times
    d: Times
    rounds: Count
    gpu: str
    date: str
    versions: dict[str, str]
    commit: str

    @property
    def origin(self) -> str:
        """The GPU, the day, the versions and the commit, in words."""
        versions = told_versions(self.versions)
        return told(
            [Measured(place=recorded_on(self.gpu), date=self.date, versions=versions, commit=self.commit)]
        )


@cache
def recorded() -> FusedMatmuls:
    """The recorded times. Raises ValueError for a file that holds something else."""
    return from_data(FusedMatmuls, tomllib.loads(_FILE.read_text(encoding="utf-8")))


def reason(found: FusedMatmuls) -> str:
    """The paragraph that says why no matmul here quantizes its own operands, in Markdown."""
    return (
        "No matmul here quantizes its own operands. A block of D needs whole rows of A. So a matmul that "
        "quantizes A quantizes each row **as often as D is blocks wide**. A kernel before it quantizes each "
        "row once. A matmul can quantize D, too: it stores each block of D once. Both were timed beside a "
        f"quantizer and a matmul, one after the other ({found.job.title}). Quantizing A in the matmul took "
        f"**{found.a.ratio:.2f}** times as long, quantizing D **{found.d.ratio:.2f}** times. So this program "
        "has neither."
    )
