"""Time the GEMMs of a random draw on this process's GPU, each beside torch's best op in the same turns."""

from collections.abc import Callable

import torch

from kernels.bench.any_shape.job import AnyShapeDraw, AnyShapeJob, LeftOut
from kernels.bench.any_shape.row import AnyShapeRow
from kernels.bench.ceilings.limits import Impossible, limits_of
from kernels.bench.commit import commit
from kernels.bench.contest import race
from kernels.bench.job import GemmJob
from kernels.bench.measure import halt_if, machine_here, memory, require_gpu, today
from kernels.bench.operands import Operands, least_bytes
from kernels.bench.timing import Load
from kernels.device import Device, Unsupported
from kernels.gemm.plan import plan_gemm


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
            rows += (timed(gemm, device, between=lambda done: halt_if(stopped)),)
        except (Unsupported, MemoryError) as error:
            left_out += (LeftOut(m=gemm.m, n=gemm.n, k=gemm.k, reason=str(error)),)
        draw = AnyShapeDraw(job=job, rows=rows, left_out=left_out)
    progress(1.0, "done")
    return draw


def timed(job: GemmJob, device: Device, between: Callable[[float], None] = lambda done: None) -> AnyShapeRow:
    """Time one GEMM in turns with torch's ops, on normal data. The job's seed is that of the draw.

    Raises Unsupported where the plan refuses, Impossible for a time that the GPU cannot reach, and
    MemoryError where it does not fit.
    """
    asked = job.recipe_data.spec(job.matmul_data), (job.m, job.n, job.k), device, job.accumulation
    plan = plan_gemm(*asked)
    if isinstance(plan, Unsupported):
        raise plan
    with memory(job):
        times = race(job, plan, _normal(job, device), device, between)
    if times.gemm is None:
        raise Unsupported(times.note)
    peer = times.torch_scaled or times.bf16
    for timing in (times.gemm, peer):
        fault = limits_of(device).fault(job.flop / timing.median_us / 1e6)
        if fault:
            raise Impossible(fault)
    machine = machine_here(device, Load())
    return AnyShapeRow(
        recipe=job.recipe,
        matmul=job.matmul,
        m=job.m,
        n=job.n,
        k=job.k,
        ours_us=times.gemm.median_us,
        peer=times.torch_op or times.bf16_op,
        peer_us=peer.median_us,
        body=plan.body.value,
        blocks_title=plan.blocks.title,
        flop=job.flop,
        least_bytes=least_bytes(job, plan),
        seed=job.seed,
        gpu=device.name,
        date=today(),
        versions=machine.versions,
        turns=times.turns,
        commit=commit(),
    )


def _normal(job: GemmJob, device: Device) -> Operands:
    """bf16 tensors of normal numbers in stored orientation, drawn on the GPU: for large ones numpy takes
    seconds.
    """
    dice = torch.Generator(device.place).manual_seed(job.seed)
    layer = job.matmul_data.layer(job.m, job.n, job.k)
    a, b = (
        torch.randn(layer.of(tensor), generator=dice, dtype=torch.bfloat16, device=device.place)
        for tensor in (job.matmul_data.a, job.matmul_data.b)
    )
    return Operands(job, a, b)
