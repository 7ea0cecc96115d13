"""Thousands of launches of one GEMM or quantizer, on operands that change, eager and in CUDA graphs."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import torch

from kernels.bench.capture import capturing
from kernels.bench.job import GemmJob, Into
from kernels.bench.quantizers.job import QuantizerJob, QuantizerKernel
from kernels.check.products import drawn, multiply_planned, normal, product_line
from kernels.check.quantizers import SAMPLES, compare
from kernels.check.report import Figure, Group, Line, Verdict
from kernels.device import Device, DeviceKind, Unsupported
from kernels.gemm.launch import gemm, torch_dtype
from kernels.gemm.plan import plan_gemm
from kernels.quantize import QuantizedTensor

LAUNCHES = 2000
"""Half of them eager, half in graphs."""
_LAUNCHES_INTERPRETED = 9
_SETS = 3
"""Sets of operands that launches change between: none finds its own data left in shared memory."""
_EACH_GRAPH = 50
_OUTPUTS = 400
_INTS = {1: torch.uint8, 2: torch.int16, 4: torch.int32}

Run = Callable[[int], list[torch.Tensor]]
"""Launch on one set of operands; the tensors that were written."""


def soak_line(job: GemmJob | QuantizerJob, name: str, device: Device, on: str) -> Line:
    """The report line of one job: right at first, and the same bits in every launch.

    Raises Unsupported where no kernel takes the job here, RuntimeError where a launch ends the context.
    """
    launches = LAUNCHES if device.kind is DeviceKind.GPU else _LAUNCHES_INTERPRETED
    if isinstance(job, GemmJob):
        group, (fault, run) = Group.GEMMS, _gemm(job, device, on)
    else:
        group, (fault, run) = Group.QUANTIZERS, _quantizer(job, device)
    if not fault:
        wrong = other_bits(run, launches, device)
        fault = f"{wrong:,} of {launches:,} launches gave other bits than the first." if wrong else ""
    return Line(
        name=name,
        group=group,
        verdict=Verdict.FAIL if fault else Verdict.PASS,
        detail=fault or f"{launches:,} launches on {_SETS} sets of operands gave the bits of the first.",
        figures=(Figure("launches", float(launches)),),
    )


def other_bits(run: Run, launches: int, device: Device) -> int:
    """The number of launches whose bits differ from those of the first one on the same operands."""
    expected = [[_bits(tensor).clone() for tensor in run(number)] for number in range(_SETS)]
    wrong = torch.zeros((), dtype=torch.int64, device=device.place)

    def launch(number: int) -> None:
        differ = []
        for tensor, right in zip(run(number), expected[number], strict=True):
            differ.append((_bits(tensor) != right).any())
            _bits(tensor).fill_(-1 if tensor.itemsize > 1 else 255)  # the next launch finds NaN here
        wrong.add_(torch.stack(differ).any())

    order = np.cumsum(np.random.default_rng(launches).integers(1, _SETS, launches)) % _SETS
    assert all(one != other for one, other in pairwise(order)), "operands change from launch to launch"
    on_gpu = device.kind is DeviceKind.GPU
    replays = launches // 2 // _EACH_GRAPH if on_gpu else 0
    for number in order[: launches - replays * _EACH_GRAPH]:
        launch(int(number))
    if replays:
        graph = torch.cuda.CUDAGraph()
        with capturing(graph):
            for number in order[:_EACH_GRAPH]:
                launch(int(number))
        for _ in range(replays):
            graph.replay()
    return int(wrong)


def _gemm(job: GemmJob, device: Device, on: str) -> tuple[str, Run]:
    """(what is wrong with the first products, in a sentence; how to launch the GEMM)."""
    spec = job.recipe_data.spec(job.matmul_data)
    plan = plan_gemm(spec, (job.m, job.n, job.k), device, job.accumulation)
    if isinstance(plan, Unsupported):
        raise plan
    sets, adds = [], job.into is Into.ACCUMULATE
    for number in range(_SETS):
        own = replace(job, seed=job.seed + number)
        product = multiply_planned(own, plan, _OUTPUTS, device)
        line = product_line(product, own.title, on)
        if line.verdict is Verdict.FAIL or product.unlike or not product.repeats:
            return f"{plan.title}: {product.first or line.detail}", _nothing
        sets.append(drawn(own, device).quantized())
    out = torch.empty((job.m, job.n), dtype=torch_dtype(spec.out), device=device.place)
    held = normal((job.m, job.n), job.seed, device.place).to(out.dtype) if adds else None

    def run(number: int) -> list[torch.Tensor]:
        if held is not None:
            out.copy_(held)
        return [gemm(*sets[number], plan, out=out, accumulate=adds)]

    return "", run


def _quantizer(job: QuantizerJob, device: Device) -> tuple[str, Run]:
    """(what differs from the reference, in a sentence; how to launch the quantizer)."""
    from kernels.bench.quantizers import peers

    if job.kernel is QuantizerKernel.QUANTIZE:
        for operand, sample in zip(job.operands, SAMPLES, strict=False):
            _, wrong, first = compare(operand, (job.rows, job.columns), sample, device)
            if wrong:
                return f"{wrong:,} codes and scales differ from the reference. {first}.", _nothing
    quantized, sets = peers.ours(job), [peers.drawn(job, number) for number in range(_SETS)]

    def run(number: int) -> list[torch.Tensor]:
        made = quantized(sets[number])
        parts = (made,) if isinstance(made, QuantizedTensor) else made
        return [tensor for part in parts if part is not None for tensor in part.tensors]

    return "", run


def _nothing(number: int) -> list[torch.Tensor]:
    raise AssertionError(f"the first products were wrong, and set {number} is launched")


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(_INTS[tensor.itemsize])
