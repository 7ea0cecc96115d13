"""The soak: random GEMMs and quantizers of all recipes, each launched thousands of times in one process.

A wait that ends too early, or a count reset too late, may show once in a thousand launches. Data left from
the launch before hides it. So operands change from launch to launch, eager and in CUDA graphs, and each
result is overwritten before the next. Every second GEMM has any blocks that the chooser has for it: so a
kernel that is seldom the best is soaked, too. Importing this needs no torch.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fp8core import fused
from fp8core.linear import MATMULS, LayerShape, LayerTensor
from fp8core.recipes import RECIPES
from kernels.check.report import CheckJob, Facts, Figure, Group, Line, Verdict
from kernels.check.steps import SPEED_BYTES, Call, DistinctGemm, Step, distinct_gemms
from kernels.device import Device, DeviceKind, Unsupported
from kernels.gemm.blocks import FEW, Blocks, Variant
from kernels.gemm.choose import tries
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.gemm.variants import VARIANTS
from kernels.measure.jobs import GemmJob, Into, QuantizerJob, QuantizerKernel
from kernels.precompile import Code, launch_gemm

if TYPE_CHECKING:
    import torch

CASES = 60
MAX_CASES = 10_000
_QUANTIZERS = 1 / 3
_FEW_TOKENS, _MANY = 0.7, 4096
_ODD = 0.3
_NARROWEST, _WIDEST = 64, 16_384
_STEP = 16
_INTERPRETED = 48
"""The largest side in Triton's interpreter, which takes a second for a few blocks."""

LAUNCHES = 2000
"""Half of them eager, half in graphs."""
_LAUNCHES_INTERPRETED = 9
_SETS = 3
"""Sets of operands: no launch finds its own data left in shared memory."""
_EACH_GRAPH = 50
_OUTPUTS = 400
_ROWS = 16
"""Rows of a computed result that are compared with the reference."""

Run = Callable[[int], "list[torch.Tensor]"]
"""Launch on one set of operands; returns the written tensors."""


def soak_jobs(seed: int, count: int, *, small: bool = False) -> tuple[GemmJob | QuantizerJob, ...]:
    """`count` jobs of a seed, those of few tokens and odd sizes first.

    Two of three are GEMMs. Tokens are log-uniform: up to FEW in seven of ten jobs, to 4,096 in the others.
    Features are log-uniform from 64 to 16,384, and three of ten are no multiple of 16. `small`: for the
    interpreter.
    """
    rng = np.random.default_rng(seed)
    gemms = distinct_gemms(MATMULS.values())
    jobs = [
        _quantizer(rng, small) if rng.random() < _QUANTIZERS else _gemm(rng, gemms, small)
        for _ in range(count)
    ]
    return tuple(sorted(jobs, key=_sort_key))


def soak_steps(job: CheckJob, facts: Facts, uuid: str, *, seed: int, count: int) -> tuple[Step, ...]:
    """A plan of a check: a step a job, those of two equal jobs once."""
    jobs = dict.fromkeys(soak_jobs(seed, count, small=facts.interpreted))
    return tuple(
        Step(
            group=_group(job),
            names=(f"{number}. {job.title}",),
            run=Call("soak.soak_line", job, f"{number}. {job.title}", str(facts.gpu)),
            needed_bytes=SPEED_BYTES,
            codes=partial(codes, job),
        )
        for number, job in enumerate(jobs, 1)
    )


def _group(job: GemmJob | QuantizerJob) -> Group:
    return Group.GEMMS if isinstance(job, GemmJob) else Group.QUANTIZERS


def _sort_key(job: GemmJob | QuantizerJob) -> tuple[bool, bool]:
    sizes = job.mnk if isinstance(job, GemmJob) else (job.rows, job.columns)
    return min(sizes) > FEW, not any(size % _STEP for size in sizes)


def _gemm(rng: np.random.Generator, gemms: tuple[DistinctGemm, ...], small: bool) -> GemmJob:
    own, layer = gemms[rng.integers(len(gemms))], _layer(rng, small)
    job = own.job(layer, seed=int(rng.integers(1 << 31)))
    adds = job.writes_fp32 and rng.random() < 1 / 2
    return replace(job, into=Into.ACCUMULATE) if adds else job


def _quantizer(rng: np.random.Generator, small: bool) -> QuantizerJob:
    while True:
        recipe = RECIPES[list(RECIPES)[rng.integers(len(RECIPES))]]
        kernel = list(QuantizerKernel)[rng.integers(len(QuantizerKernel))]
        tensor = {
            QuantizerKernel.QUANTIZE: list(LayerTensor)[rng.integers(3)],
            QuantizerKernel.SWIGLU_BACKWARD: LayerTensor.DY,
        }.get(kernel, LayerTensor.X)
        readers = [matmul.name for matmul in MATMULS.values() if matmul.side_of(tensor) is not None]
        matmuls = tuple(readers if rng.random() < 1 / 2 else [readers[rng.integers(len(readers))]])
        rows, columns = _layer(rng, small).of(tensor)
        columns += columns % 2 * (kernel is QuantizerKernel.SWIGLU_BACKWARD)
        try:
            return QuantizerJob(
                kernel=kernel,
                recipe=recipe.name,
                tensor=tensor.value,
                matmuls=matmuls,
                rows=rows,
                columns=columns,
            )
        except ValueError:  # the recipe leaves this tensor in bf16
            continue


def _layer(rng: np.random.Generator, small: bool) -> LayerShape:
    most = FEW if rng.random() < _FEW_TOKENS else _MANY
    tokens = _log_uniform(rng, 1, _INTERPRETED if small else most)
    low, high = (1, _INTERPRETED) if small else (_NARROWEST, _WIDEST)
    features = [_log_uniform(rng, low, high) for _ in range(2)]
    whole = rng.random() >= _ODD
    in_, out = (-(-size // _STEP) * _STEP if whole else size for size in features)
    return LayerShape(tokens=tokens, in_=in_, out=out)


def _log_uniform(rng: np.random.Generator, low: int, high: int) -> int:
    return round(low * (high / low) ** rng.random())


def soak_plan(job: GemmJob, device: Device) -> GemmPlan | Unsupported:
    """The plan of a GEMM; for an odd seed any variant that can run it, with any blocks that it offers: with
    split-K as often as without.
    """
    plan = plan_gemm(job.spec, job.mnk, device, job.accumulation)
    if isinstance(plan, Unsupported) or device.kind is not DeviceKind.GPU or not job.seed % 2:
        return plan
    kinds: dict[tuple[Variant, bool], list[Blocks]] = {}
    for variant in VARIANTS:
        for blocks in tries(variant, plan.numerics, job.mnk, device):
            kinds.setdefault((variant, blocks.split_k > 1), []).append(blocks)
    able, rng = [*kinds.values()], np.random.default_rng(job.seed)
    blocks = able[rng.integers(len(able))] if able else [plan.blocks]
    return replace(plan, blocks=blocks[rng.integers(len(blocks))])


def codes(job: GemmJob | QuantizerJob, device: Device) -> Iterator[Code]:
    if isinstance(job, GemmJob) and not isinstance(plan := soak_plan(job, device), Unsupported):
        yield launch_gemm, job, plan.blocks, True


def soak_line(job: GemmJob | QuantizerJob, name: str, on: str, device: Device) -> Line:
    """The line of one job: right at first, and the same bits in every launch. Raises Unsupported."""
    launches = LAUNCHES if device.kind is DeviceKind.GPU else _LAUNCHES_INTERPRETED
    is_gemm = isinstance(job, GemmJob)
    fault, run = _gemm_runs(job, device, on) if is_gemm else _quantizer_runs(job, device)
    if not fault:
        wrong = other_bits(run, launches, device)
        fault = f"{wrong:,} of {launches:,} launches gave other bits than the first." if wrong else ""
    verdict, figures = Verdict.FAIL if fault else Verdict.PASS, (Figure("launches", float(launches)),)
    detail = fault or f"{launches:,} launches on {_SETS} sets of operands gave the bits of the first."
    return Line(name=name, group=_group(job), verdict=verdict, detail=detail, figures=figures)


def other_bits(run: Run, launches: int, device: Device) -> int:
    """Number of launches whose bits differ from the first one's on the same operands."""
    import torch

    from kernels.measure.exactness import bits
    from kernels.measure.timing import capturing

    expected = [[bits(tensor).clone() for tensor in run(number)] for number in range(_SETS)]
    wrong = torch.zeros((), dtype=torch.int64, device=device.place)

    def launch(number: int) -> None:
        differ = []
        for tensor, right in zip(run(number), expected[number], strict=True):
            differ.append((bits(tensor) != right).any())
            bits(tensor).fill_(-1 if tensor.itemsize > 1 else 255)  # the next launch finds NaN here
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


def _gemm_runs(job: GemmJob, device: Device, on: str) -> tuple[str, Run | None]:
    import torch

    from kernels.check.products import multiply, product_line
    from kernels.gemm.launch import gemm, torch_dtype
    from kernels.measure.operands import Operands, normal

    plan = soak_plan(job, device)
    sets, adds = [], job.into is Into.ACCUMULATE
    for number in range(_SETS):
        own = replace(job, seed=job.seed + number)
        product = multiply(own, plan, _OUTPUTS, device)
        line = product_line(product, on)
        other = product.prediction.first_difference if product.prediction else ""
        if line.verdict is Verdict.FAIL or other or not product.repeats:
            return f"{plan.title}: {other or line.detail}", None
        sets.append(Operands.normal(own, device).quantized())
    out = torch.empty((job.m, job.n), dtype=torch_dtype(job.spec.out), device=device.place)
    addend = normal((job.m, job.n), job.seed, device.place).to(out.dtype) if adds else None

    def run(number: int) -> "list[torch.Tensor]":
        if addend is not None:
            out.copy_(addend)
        return [gemm(*sets[number], plan, out=out, accumulate=adds)]

    return "", run


def _quantizer_runs(job: QuantizerJob, device: Device) -> tuple[str, Run | None]:
    """(the first fault or "", launches).

    Each operand alone equals the reference on a hard sample. Of a computed result, _ROWS rows equal it. The
    copies equal those of a launch each.
    """
    from kernels.check.quantizers import SAMPLES, compare
    from kernels.measure import quantizer as peers
    from kernels.measure.exactness import bits

    for operand, sample in zip(job.operands, SAMPLES, strict=False):
        _, wrong, first = compare(operand, (job.rows, job.columns), sample, device)
        if wrong:
            return f"{wrong:,} codes and scales differ from the reference. {first}.", None
    quantized, sets = peers.ours(job), [peers.drawn(job, number) for number in range(_SETS)]

    def run(number: int) -> "list[torch.Tensor]":
        copies = quantized(sets[number])
        return [tensor for copy in _tuple(copies) for tensor in copy.tensors]

    for number, inputs in enumerate(sets):
        x = peers.result(job, inputs)
        if (row := _first_wrong_row(job.kernel, inputs, x, peers.EPS)) is not None:
            return f"Row {row} of the result in bf16 differs from the reference.", None
        alone = [tensor for copy in peers.one_by_one(job, x) for tensor in copy.tensors]
        wrong = sum(int((bits(a) != bits(b)).sum()) for a, b in zip(run(number), alone, strict=True))
        if wrong:
            return f"{wrong:,} codes and scales differ from those of a launch for each copy.", None
    return "", run


def _tuple(copies: Any) -> tuple[Any, ...]:
    return copies if isinstance(copies, tuple) else (copies,)


def _first_wrong_row(
    kernel: QuantizerKernel, inputs: "tuple[torch.Tensor, ...]", x: "torch.Tensor", eps: float
) -> int | None:
    """The first of some rows of a computed bf16 result that differs from the reference."""
    reference = {
        QuantizerKernel.SWIGLU: fused.swiglu,
        QuantizerKernel.SWIGLU_BACKWARD: fused.swiglu_backward,
        QuantizerKernel.RMS_NORM: partial(fused.rms_norm, eps=eps),
    }.get(kernel)
    if reference is None:
        return None
    rows = sorted({number * (len(x) - 1) // (_ROWS - 1) for number in range(_ROWS)})
    own = [each[rows] if each.ndim == 2 else each for each in (x, *inputs)]
    numbers, *from_ = (each.float().cpu().numpy() for each in own)
    wrong = (numbers.view(np.uint32) != reference(*from_).view(np.uint32)).any(axis=1)
    return rows[int(np.argmax(wrong))] if wrong.any() else None
