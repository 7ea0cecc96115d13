"""The cost of a job on a data center's GPU, estimated before it runs.

The line of jobs is ordered by it, and a job that would hold a class up is refused by it. The rates are low
ones: an estimate is rather too long than too short.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fp8core.inputs import InputKind
from kernels.environment import positive
from kernels.measure.jobs import GemmJob

FIRST_FLOP = 2**39
"""The fp64 work of a first answer: some tens of milliseconds."""
CAREFUL_FLOP = 16 * 2**40
"""The fp64 work of a careful answer."""
BANDS = 2**5
"""Bands of rows of D; at least one is compared."""

_START_S, _CAREFUL_S = 0.2, 1.5
_DRAW_S = {InputKind.HEAVY_TAIL: 25e-9}
_DRAW_USUAL_S = 12e-9
_FP64, _GEMM = 3e13, 4e14
_FIRST_LAUNCHES, _READY_LAUNCHES, _CONTENDERS = 20, 10, 5

SECONDS, GFLOP = "FP8_EXPLORER_JOB_SECONDS", "FP8_EXPLORER_JOB_GFLOP"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Seconds until a job's first answer, and from there to its careful answer; 0 where there is only one."""

    first_s: float
    careful_s: float = 0.0


def gemm_cost(job: GemmJob) -> Cost:
    """The estimate of a GEMM: drawing its operands, the fp64 check, and the launches."""
    launch_s = job.flop / _GEMM
    # A and B are drawn at the same time.
    draw_s = max(job.m, job.n) * job.k * _DRAW_S.get(job.input, _DRAW_USUAL_S)
    band = 2 * job.flop * -(-job.m // BANDS) / max(job.m, 1)
    turn_s = max(job.turn_ms / 1e3, launch_s) + job.settle_ms / 1e3
    return Cost(
        first_s=_START_S
        + draw_s
        + max(band, min(2 * job.flop, FIRST_FLOP)) / _FP64
        + _FIRST_LAUNCHES * launch_s,
        careful_s=_CAREFUL_S
        + draw_s
        + max(band, min(2 * job.flop, CAREFUL_FLOP)) / _FP64
        + _CONTENDERS * (_READY_LAUNCHES * launch_s + job.runs * turn_s),
    )


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """The most that one job may ask of a GPU: seconds until its first answer, and GFLOP."""

    seconds: float = 5.0
    gflop: float = 20_000.0

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Allowance":
        """The allowance that the variables SECONDS and GFLOP set. Raises ValueError for one that is no number
        above 0.
        """
        default = cls()
        return cls(
            seconds=positive(environment, SECONDS, default.seconds),
            gflop=positive(environment, GFLOP, default.gflop),
        )

    def refusal(self, job: object) -> str | None:
        """A sentence on why a job is too large for this server; None where it is not."""
        if not isinstance(job, GemmJob):
            return None
        gflop, seconds = job.flop / 1e9, gemm_cost(job).first_s
        if gflop > self.gflop:
            return _sentence(job, f"{gflop:,.0f} GFLOP", f"{self.gflop:,.0f} GFLOP", GFLOP)
        if seconds > self.seconds:
            return _sentence(job, f"about {seconds:,.0f} s of the GPU", f"{self.seconds:g} s", SECONDS)
        return None


def _sentence(job: GemmJob, asked: str, limit: str, variable: str) -> str:
    return (
        f"{job.size} asks for {asked}, and one run may take {limit} here, so that others need not wait long. "
        f"{job.size_advice}, or start the app with a larger {variable}."
    )
