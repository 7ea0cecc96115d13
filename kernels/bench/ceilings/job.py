"""The best rates of a GPU (Ceilings), measured with torch's own ops: the roofline's roof.

Plain data that travels as JSON; importing this needs neither torch nor a GPU.
"""

from dataclasses import dataclass

from kernels.bench.job import MAX_RUNS
from kernels.bench.machine import Machine
from kernels.typed import Count, Positive, whole

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


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """A rate: the median over `runs` rounds, with its percentiles: p20 ≤ median ≤ p80.

    The SM clock and power were read during the rounds; None where they could not be read.
    """

    median: Positive
    p20: Positive
    p80: Positive
    runs: Count
    clock_mhz: float | None = None
    power_w: float | None = None


@dataclass(frozen=True, kw_only=True)
class Ceilings:
    """The result of one CeilingsJob, measured hot: each rate in long turns over buffers larger than the L2.

    - copy_gb_s: a device copy, bytes read plus bytes written, in GB/s.
    - bf16_tflop_s: torch.mm of bf16[MATMUL_SIDE, MATMUL_SIDE], normal data, to bf16.
    - fp8_tflop_s: torch._scaled_mm of these matrices in e4m3, one scale a tensor, fast accumulation, to bf16.
      It is None where torch has no such op on this GPU; then `fp8_note` says why.
    - commit: of the code that measured; None in rows from before it was kept.
    """

    job: CeilingsJob
    machine: Machine
    date: str
    copy_gb_s: Ceiling
    bf16_tflop_s: Ceiling
    fp8_tflop_s: Ceiling | None
    fp8_note: str = ""
    commit: str | None = None
