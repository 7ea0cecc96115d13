"""A sweep over K on the tensor core (ProbeJob) and its result (ProbeRow): plain data.

Importing this needs neither torch nor a GPU.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fp8core.experiments.dot_terms import TERM_NOTES, TermKind, draw_terms
from fp8core.formats import FORMATS
from kernels.device import HOPPER, Device, DeviceKind, Unsupported, current_device
from kernels.measure.jobs import MAX_SEED
from kernels.measure.rows import Machine
from kernels.probe.operations import WGMMA_ROWS, Case, Operation, Run, difference, operations, predict
from kernels.typed import Count, check_known, check_whole

ROWS = (WGMMA_ROWS, 16)
"""M and N: one block of the kernel."""
LONGEST = 1 << 14
SWEPT = ("wgmma", "promoted", "hmma")
"""Names of operations that a sweep offers."""
SHORTEST = WGMMA_ROWS // 2


def lengths(longest: int) -> tuple[int, ...]:
    """Powers of two from SHORTEST."""
    return tuple(SHORTEST << power for power in range((longest // SHORTEST).bit_length()))


def swept(name: str) -> Operation:
    """One of SWEPT."""
    return next(operation for operation in operations() if operation.name == name)


@dataclass(frozen=True, kw_only=True)
class ProbeJob:
    """Sums of the first k products by one operation, for each k of `lengths`.

    Raises ValueError for a field out of range.
    """

    operation: str
    terms: TermKind
    format: str
    seed: int
    longest: int
    size_advice: ClassVar[str] = "Make the longest K smaller"

    def __post_init__(self) -> None:
        check_known("operation", self.operation, SWEPT)
        if self.format not in self.operation_data.accumulator.operands:
            formats = ", ".join(self.operation_data.accumulator.operands)
            raise ValueError(f"{self.operation_data.title} multiplies {formats}, got {self.format!r}")
        check_whole(0, MAX_SEED, seed=self.seed)
        if not SHORTEST <= self.longest <= LONGEST or self.longest.bit_count() > 1:
            raise ValueError(f"K is a power of two from {SHORTEST} to {LONGEST}, got {self.longest!r}")

    @property
    def lengths(self) -> tuple[int, ...]:
        return lengths(self.longest)

    @property
    def operation_data(self) -> Operation:
        return swept(self.operation)

    @property
    def title(self) -> str:
        terms = TERM_NOTES[self.terms].title.lower()
        return f"{self.operation_data.title}, {terms} {self.format}, K up to {self.longest:,}"

    @property
    def size(self) -> str:
        return f"K = {self.longest}"

    def codes(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """uint8 a[M, K] and b[N, K] for the longest K."""
        x = draw_terms(self.terms, ROWS, self.longest, self.seed)
        return tuple(FORMATS[self.format].encode(part) for part in x)


@dataclass(frozen=True, kw_only=True)
class ProbeRow:
    """Sums of all K, and how many of them differ from the model in a bit."""

    job: ProbeJob
    machine: Machine
    date: str
    outputs: Count
    mismatches: Count
    first_difference: str = ""


def measure(
    job: ProbeJob, *, progress: Callable[[float, str], None], stopped: Callable[[], bool]
) -> ProbeRow:
    """Run one job on this process's GPU, a Hopper."""
    return sweep(job, job.operation_data.run, require_hopper(), progress, stopped)


def require_hopper() -> Device:
    """The GPU in use. Raises Unsupported if it is no Hopper GPU."""
    device = current_device()
    if device.kind is not DeviceKind.GPU or device.capability != HOPPER.capability:
        raise Unsupported(
            "the models are those of Hopper's tensor core (compute capability 9.0), and this is "
            f"{device.name}: nothing was run"
        )
    return device


def sweep(
    job: ProbeJob,
    run: Run,
    device: Device,
    progress: Callable[[float, str], None],
    stopped: Callable[[], bool],
) -> ProbeRow:
    """Compare the sums of `run`, from c = 0, with the model."""
    from kernels.measure.machine import halt_if, machine_here, today

    outputs = mismatches = finished = 0
    first, total = "", sum(job.lengths)
    a, b = job.codes()
    fields = {"a_format": job.format, "b_format": job.format, "c": np.zeros(ROWS, np.float32)}
    for k in job.lengths:
        halt_if(stopped)
        progress(finished / total, f"K = {k:,}")
        case = Case(a=np.ascontiguousarray(a[:, :k]), b=np.ascontiguousarray(b[:, :k]), **fields)
        result, predicted = run(case), predict(job.operation_data, case)
        count, words = difference(f"K = {k:,}", result, predicted)
        first = first or words
        outputs, mismatches, finished = outputs + result.size, mismatches + count, finished + k
    progress(1.0, "done")
    comparison = {"outputs": outputs, "mismatches": mismatches, "first_difference": first}
    return ProbeRow(job=job, machine=machine_here(device), date=today(), **comparison)
