"""A job that makes later ones fast (ReadyJob): compile what a GEMM runs, before anybody asks for it.

Plain data; importing it needs neither torch nor a GPU. kernels.bench.ready.measure does it.
"""

from dataclasses import dataclass

from kernels.bench.job import GemmJob


@dataclass(frozen=True)
class ReadyJob:
    """Compile the kernels of a GEMM and draw its operands; with `is_code_only`, compile those of its first
    answer.
    """

    gemm: GemmJob
    is_code_only: bool = False

    @property
    def title(self) -> str:
        """What runs, for a list of runs."""
        return f"Getting ready: {self.gemm.title}"

    @property
    def size(self) -> str:
        """The fields that decide how much memory it needs, and their values."""
        return self.gemm.size

    @property
    def size_advice(self) -> str:
        """Advice on how to need less memory."""
        return self.gemm.size_advice


@dataclass(frozen=True)
class Readied:
    """A GEMM whose kernels are compiled. It took so many seconds."""

    job: ReadyJob
    seconds: float


def code_of(job: object) -> GemmJob | None:
    """The GEMM whose code a job needs; None for jobs that are not compiled ahead."""
    gemm = job.gemm if isinstance(job, ReadyJob) else job
    if not isinstance(gemm, GemmJob):
        return None
    shape = {"m": gemm.m, "n": gemm.n, "k": gemm.k, "own": gemm.own}
    return GemmJob(recipe=gemm.recipe, matmul=gemm.matmul, accumulation=gemm.accumulation, **shape)
