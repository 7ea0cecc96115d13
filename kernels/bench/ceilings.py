"""The best rates of a GPU (Ceilings), measured with torch's own ops: the roofline's roof.

Plain data that travels as JSON; importing this needs neither torch nor a GPU.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from kernels.bench.job import MAX_RUNS
from kernels.bench.machine import Machine
from kernels.typed import checked, positive, whole

COPY_BYTES = 1 << 30
"""Bytes of the tensor that is copied: many times what an L2 holds."""
MATMUL_SIDE = 8192


@dataclass(frozen=True, kw_only=True)
class CeilingsJob:
    """Measure this GPU's ceilings over `runs` rounds. Raises ValueError for an impossible number of runs."""

    runs: int = 10

    def __post_init__(self) -> None:
        if not whole(self.runs, 1, MAX_RUNS):
            raise ValueError(f"runs is a whole number from 1 to {MAX_RUNS}, got {self.runs!r}")

    @property
    def title(self) -> str:
        """What runs, for a list of runs."""
        return "This GPU's ceilings: copy, bf16 and fp8"

    @property
    def size(self) -> str:
        """The fields that decide how much memory it needs, and their values."""
        return f"a copy of {COPY_BYTES >> 30} GiB beside matmuls of {MATMUL_SIDE}³"

    @property
    def size_advice(self) -> str:
        """Advice where memory is short."""
        return "A smaller copy would stay in the L2: free memory on this GPU"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "CeilingsJob":
        """The inverse of to_dict. Raises ValueError for what a job cannot be."""
        try:
            return cls(**data)
        except TypeError as error:
            raise ValueError(f"a measurement of ceilings has the field runs: {error}") from error


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """A rate: the median over `runs` rounds, with its percentiles: p20 ≤ median ≤ p80.

    The SM clock and power were read during the rounds; None where they could not be read.
    """

    median: float
    p20: float
    p80: float
    runs: int
    clock_mhz: float | None = None
    power_w: float | None = None


@dataclass(frozen=True, kw_only=True)
class Ceilings:
    """The result of one CeilingsJob, measured hot: each rate in long turns over buffers larger than the L2.

    - copy_gb_s: a device copy, bytes read plus bytes written, in GB/s.
    - bf16_tflop_s: torch.mm of bf16[MATMUL_SIDE, MATMUL_SIDE], normal data, to bf16.
    - fp8_tflop_s: torch._scaled_mm of these matrices in e4m3, one scale a tensor, fast accumulation, to bf16.
      It is None where torch has no such op on this GPU; then `fp8_note` says why.
    """

    job: CeilingsJob
    machine: Machine
    date: str
    copy_gb_s: Ceiling
    bf16_tflop_s: Ceiling
    fp8_tflop_s: Ceiling | None
    fp8_note: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Ceilings":
        """The inverse of to_dict. Raises ValueError naming what does not fit."""
        fields = dict(data)
        try:
            fields["job"] = CeilingsJob.from_dict(fields["job"])
            fields["machine"] = Machine.from_dict(fields["machine"])
            for name in ("copy_gb_s", "bf16_tflop_s"):
                fields[name] = Ceiling(**fields[name])
            fields["fp8_tflop_s"] = Ceiling(**fields["fp8_tflop_s"]) if fields["fp8_tflop_s"] else None
            found = checked(cls(**fields))
            for name in ("copy_gb_s", "bf16_tflop_s", "fp8_tflop_s"):
                rate = getattr(found, name)
                if rate is not None:
                    positive(name, rate.median, rate.p20, rate.p80)
            return found
        except KeyError as error:
            raise ValueError(f"these are not measured ceilings: {error} is missing") from error
        except (TypeError, ValueError) as error:
            raise ValueError(f"these are not measured ceilings: {error}") from error
