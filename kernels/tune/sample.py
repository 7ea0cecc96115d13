"""One measured launch, for the cost model: a GEMM, its blocks, and the time. Pure; no torch."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES, MatmulSpec
from kernels.device import Device, Unsupported
from kernels.gemm.blocks import Blocks
from kernels.gemm.meaning import Meaning, Summation, meaning_of
from kernels.typed import Count, Positive, from_data, to_data


@dataclass(frozen=True, kw_only=True)
class DrawnGemm:
    """A recipe's matmul of a shape."""

    recipe: str
    matmul: str
    m: Count
    n: Count
    k: Count

    @property
    def mnk(self) -> tuple[int, int, int]:
        return self.m, self.n, self.k

    @property
    def flop(self) -> int:
        return 2 * self.m * self.n * self.k

    @property
    def spec(self) -> MatmulSpec:
        return RECIPES[self.recipe].spec(MATMULS[self.matmul])

    def meaning(self, device: Device) -> Meaning:
        """Meaning of the matmul on a device. Raises Unsupported where it cannot be."""
        meaning = meaning_of(self.spec, device, Summation.RECIPE)
        if isinstance(meaning, Unsupported):
            raise meaning
        return meaning


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The time of a GEMM under blocks; of torch's best op where there are none."""

    gemm: DrawnGemm
    blocks: Blocks | None
    us: Positive


def read_samples(path: Path) -> list[Sample]:
    """Samples from a file, one a line. Raises ValueError for a line that is none."""
    return [from_data(Sample, json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def written(samples: Iterable[Sample]) -> str:
    """The text of a file of samples."""
    return "".join(json.dumps(to_data(sample)) + "\n" for sample in samples)
