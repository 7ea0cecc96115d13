"""Time one fused GEMM on this process's GPU, in turns with the two kernels whose bits it gives."""

from collections.abc import Callable
from functools import partial

import torch

from fp8core.recipes import Operand
from kernels.bench.commit import commit
from kernels.bench.fused_gemms.job import FusedEnd, FusedGemmJob
from kernels.bench.fused_gemms.records import possible
from kernels.bench.fused_gemms.row import FusedGemmRow
from kernels.bench.machine import Timing
from kernels.bench.measure import machine_here, require_gpu, today
from kernels.bench.timing import Contender, HotTurn, Load, buffer_sets, interleaved
from kernels.device import Device, Unsupported
from kernels.gemm import gemm, plan_gemm
from kernels.gemm.fused import gemm_into_operand, gemm_quantizing_a
from kernels.gemm.fused.plan import plan_into
from kernels.gemm.fused.quantizing import plan_quantizing
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import GemmPlan
from kernels.quantize import QuantizedTensor, quantize

ROUNDS, TURN_US = 7, 8_000.0
_OURS, _APART, _GEMM, _QUANTIZE = "ours", "apart", "gemm", "quantize"
_MOST_SETS = 24
_LATER_AMAX = 8.0
"""Amax of earlier steps, in roots of K, of a D of normal numbers."""

Inputs = tuple[torch.Tensor, QuantizedTensor, QuantizedTensor]
Run = Callable[[Inputs], object]


def measure(
    job: FusedGemmJob,
    *,
    rounds: int = ROUNDS,
    turn_us: float = TURN_US,
    between: Callable[[float], None] = lambda done: None,
) -> FusedGemmRow:
    """Time a fused GEMM over rotated buffers that together are larger than twice the L2.

    Raises Unsupported where there is no GPU or no kernel, Impossible for a time that the GPU cannot reach,
    and MemoryError.
    """
    device = require_gpu()
    try:
        return _measured(job, device, rounds, turn_us, between)
    except torch.OutOfMemoryError as error:
        raise MemoryError(f"{job.title} does not fit into the memory of this GPU") from error
    finally:
        torch.cuda.empty_cache()


def _measured(
    job: FusedGemmJob, device: Device, rounds: int, turn_us: float, between: Callable[[float], None]
) -> FusedGemmRow:
    plain = _planned(plan_gemm(job.spec, job.mnk, device, Summation.RECIPE))
    plan, runs = _of_a(job, device, plain) if job.end is FusedEnd.A else _of_d(job, device, plain)
    sets = min(_MOST_SETS, buffer_sets(job.m * job.k + job.n * job.k, device.l2_bytes))
    inputs = [_drawn(job, number) for number in range(sets)]
    contenders = [Contender(name, [partial(run, given) for given in inputs]) for name, run in runs.items()]
    times = interleaved([HotTurn(each, turn_us) for each in contenders], rounds, between).by_name
    return possible(_row(job, device, times, plan, plain, rounds))


def _row(
    job: FusedGemmJob, device: Device, times: dict[str, Timing], plan: GemmPlan, plain: GemmPlan, turns: int
) -> FusedGemmRow:
    return FusedGemmRow(
        job=job,
        ours=times[_OURS],
        apart=times[_APART],
        gemm=times[_GEMM],
        quantize=times[_QUANTIZE],
        blocks=plan.blocks.title,
        plain_blocks=plain.blocks.title,
        gpu=device.name,
        date=today(),
        versions=machine_here(device, Load()).versions,
        turns=turns,
        commit=commit(),
    )


def _planned(plan: GemmPlan | Unsupported) -> GemmPlan:
    if isinstance(plan, Unsupported):
        raise plan
    return plan


def _of_a(job: FusedGemmJob, device: Device, plain: GemmPlan) -> tuple[GemmPlan, dict[str, Run]]:
    """(the plan, contenders) of a GEMM that quantizes its own A."""
    operand = Operand(spec=job.spec.a, k_is_rows=False)
    plan = _planned(plan_quantizing(job.spec, job.mnk, device))
    return plan, {
        _OURS: lambda given: gemm_quantizing_a(given[0], given[2], plan),
        _APART: lambda given: gemm(quantize(given[0], operand), given[2], plain),
        _GEMM: lambda given: gemm(given[1], given[2], plain),
        _QUANTIZE: lambda given: quantize(given[0], operand),
    }


def _of_d(job: FusedGemmJob, device: Device, plain: GemmPlan) -> tuple[GemmPlan, dict[str, Run]]:
    """(the plan, contenders) of a GEMM whose D leaves as an operand."""
    operand, d = job.into, torch.randn(job.m, job.n, device=device.place, dtype=torch.bfloat16)
    history = _history(operand, _LATER_AMAX * job.k**0.5)
    plan = _planned(plan_into(job.spec, operand, job.mnk, device))
    return plan, {
        _OURS: lambda given: gemm_into_operand(given[1], given[2], plan, operand, **history),
        _APART: lambda given: quantize(gemm(given[1], given[2], plain), operand, **history),
        _GEMM: lambda given: gemm(given[1], given[2], plain),
        _QUANTIZE: lambda given: quantize(d, operand, **history),
    }


def _history(operand: Operand, amax: float) -> dict[str, torch.Tensor]:
    """Amax of earlier steps, where a scale is delayed."""
    return {"history": torch.full((2,), amax, device="cuda")} if operand.spec.scale_rule.history else {}


def _drawn(job: FusedGemmJob, seed: int) -> Inputs:
    """(x in bf16, A, B) of normal numbers on the GPU."""
    dice = torch.Generator("cuda").manual_seed(seed)
    made = [
        torch.randn(shape, generator=dice, device="cuda", dtype=torch.bfloat16)
        for shape in ((job.m, job.k), (job.n, job.k))
    ]
    operands = [Operand(spec=each, k_is_rows=False) for each in job.spec.quantized]
    a, b = (quantize(x, each, **_history(each, _LATER_AMAX)) for x, each in zip(made, operands, strict=True))
    return made[0], a, b
