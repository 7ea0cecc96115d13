"""Time the GEMMs of a random draw on this process's GPU, each beside torch's best op in the same turns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kernels.device import Device, Unsupported
from kernels.gemm.blocks import Blocks
from kernels.gemm.plan import plan_gemm
from kernels.measure.contest import race
from kernels.measure.gemm import row_of
from kernels.measure.jobs import GemmJob
from kernels.measure.machine import halt_if, memory, require_gpu
from kernels.measure.operands import Operands
from kernels.measure.random_shapes import AnyShapeDraw, AnyShapeJob, LeftOut
from kernels.measure.rows import Peer, Row


def measure(
    job: AnyShapeJob,
    *,
    progress: Callable[..., None],
    stopped: Callable[[], bool],
    so_far: AnyShapeDraw | None = None,
) -> AnyShapeDraw:
    """Time every GEMM of a draw, or those that `so_far` lacks; each new one is told with the progress.

    A GEMM that no kernel computes here, or that does not fit, is left out with its reason.

    Raises Unsupported where there is no GPU, and StoppedEarly once `stopped()` is true.
    """
    device = require_gpu()
    draw = so_far or AnyShapeDraw(job=job, rows=())
    for number, gemm in enumerate(job.gemms):
        if number < draw.done:
            continue
        halt_if(stopped)
        progress(number / job.count, f"{number + 1} of {job.count}: {gemm.size}", draw if draw.done else None)
        rows, left_out = draw.rows, draw.left_out
        try:
            rows += (timed(gemm, device, between=lambda done: halt_if(stopped)).row,)
        except (Unsupported, MemoryError) as error:
            left_out += (LeftOut(m=gemm.m, n=gemm.n, k=gemm.k, reason=str(error)),)
        draw = AnyShapeDraw(job=job, rows=rows, left_out=left_out)
    progress(1.0, "done")
    return draw


@dataclass(frozen=True)
class Timed:
    """The row of a drawn GEMM, and microseconds of a launch by blocks, those of its plan first."""

    row: Row
    by_blocks: dict[Blocks, float]


def timed(
    job: GemmJob,
    device: Device,
    between: Callable[[float], None] = lambda done: None,
    others: Sequence[Blocks] = (),
) -> Timed:
    """Time one GEMM in turns with torch's ops, on normal data, and with other blocks of its plan.

    The job's seed is that of the draw. Raises Unsupported where the plan refuses, Impossible for a time that
    the GPU cannot reach, and MemoryError where it does not fit.
    """
    spec = job.recipe_data.spec(job.matmul_data)
    plan = plan_gemm(spec, job.mnk, device, job.accumulation)
    if isinstance(plan, Unsupported):
        raise plan
    with memory(job.size):
        times = race(job, plan, Operands.normal(job, device), device, between, others)
    if Peer.OURS not in times.by_peer:
        raise Unsupported(times.note)
    row = row_of(job, plan, device, times)
    if others:
        regret = times.by_blocks[plan.blocks] / min(times.by_blocks.values()) - 1
        row = replace(row, regret=round(regret, 4))
    return Timed(row, times.by_blocks)
