"""Time quantizers on this process's GPU, each in turns with a copy and with torch.compile."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

import torch

from fp8core.linear import LayerTensor
from fp8core.recipes import RECIPES, Operand
from kernels.device import current_device
from kernels.faults import first_line
from kernels.launching.trace import Trace, tracing
from kernels.layer.plan import readings
from kernels.layer.timeline.casts import TorchCopy, cast_all, casts_of, swiglu, swiglu_backward
from kernels.measure.commands import ALL, add_recipe, figure, job_parser, line_of, run_jobs, selected
from kernels.measure.jobs import QuantizerJob, QuantizerKernel
from kernels.measure.machine import halt_if, measured, memory, require_gpu
from kernels.measure.records import QUANTIZERS
from kernels.measure.rows import Peer, QuantizerRow
from kernels.measure.timing import Contender, HotTurn, buffer_sets, copy_launch, interleaved
from kernels.measure.torch_peers import REFUSALS
from kernels.precompile import keep_compiled_code
from kernels.quantize import (
    QuantizedTensor,
    quantize,
    quantize_both,
    rms_norm_quantize,
    swiglu_backward_quantize,
    swiglu_quantize,
)
from kernels.quantize.quantize import LAUNCHES

EPS = 1e-6
SEED = 1
Inputs = tuple[torch.Tensor, ...]
Run = Callable[[Inputs], Any]


class Kernel(NamedTuple):
    """A quantizer: its tensor's shape by default, its inputs' shapes, ours, and what torch computes first."""

    shape: tuple[int, int]
    inputs: Callable[[int, int], tuple[tuple[int, ...], ...]]
    ours: Callable[..., Any]
    compute: Callable[..., torch.Tensor]


def _quantize(x: torch.Tensor, operands: Sequence[Operand], *, seeds: list[int | None], **more: Any) -> Any:
    if len(operands) == 2:
        return quantize_both(x, *operands, seeds=seeds, **more)
    return quantize(x, operands[0], seed=seeds[0], **more)


def _rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.rms_norm(x, weight.shape, weight, EPS)


_KERNELS = {
    QuantizerKernel.QUANTIZE: Kernel((8192, 8192), lambda m, n: ((m, n),), _quantize, lambda x: x),
    QuantizerKernel.SWIGLU: Kernel((4096, 14336), lambda m, n: ((m, 2 * n),), swiglu_quantize, swiglu),
    QuantizerKernel.SWIGLU_BACKWARD: Kernel(
        (4096, 28672), lambda m, n: ((m, n // 2), (m, n)), swiglu_backward_quantize, swiglu_backward
    ),
    QuantizerKernel.RMS_NORM: Kernel(
        (8192, 4096), lambda m, n: ((m, n), (n,)), partial(rms_norm_quantize, eps=EPS), _rms_norm
    ),
}
_TABLE = (
    *(("GB/s", 7), ("of copy", 8), ("× compile", 10), ("× apart", 8), ("µs", 9), ("launches", 9)),
    ("quantizer", 0),
)


def main(arguments: Sequence[str]) -> int:
    parser = job_parser("quantizer", "Time quantizers, fused and not, beside a copy and torch.compile.")
    add_recipe(parser)
    kernels = [*(kernel.value for kernel in QuantizerKernel), ALL]
    parser.add_argument("--kernel", default=ALL, choices=kernels, help="a quantizer")
    sizes = ("ROWS", "COLUMNS")
    parser.add_argument("--tensor", nargs=2, type=int, metavar=sizes, help="the quantized tensor's shape")
    options = parser.parse_args(arguments)
    return run_jobs(options, jobs_of(options), measure, QUANTIZERS, table=_TABLE, show=_line)


def jobs_of(options: argparse.Namespace) -> Iterator[QuantizerJob]:
    kernels = [each for each in QuantizerKernel if options.kernel in (ALL, each.value)]
    for kernel, recipe in product(kernels, selected(options.recipe, RECIPES)):
        tensor = LayerTensor.DY if kernel is QuantizerKernel.SWIGLU_BACKWARD else LayerTensor.X
        readers = tuple(each.matmul.name for each in readings(RECIPES[recipe], tensor) if each.operand)
        rows, columns = options.tensor or _KERNELS[kernel].shape
        fields = {"recipe": recipe, "tensor": tensor.value, "rows": rows, "columns": columns}
        for matmuls in (*((name,) for name in readers), *([readers] if len(readers) > 1 else ())):
            yield QuantizerJob(kernel=kernel, matmuls=matmuls, **fields)


def _line(row: QuantizerRow) -> str:
    cells = [
        *(f"{row.gb_s:,.0f}", f"{row.ratio:.2f}", figure(row.over(Peer.COMPILED), ".2f")),
        *(figure(row.over(Peer.APART), ".2f"), figure(row.us(Peer.OURS), ".1f")),
        *(str(row.launches), row.job.title),
    ]
    return line_of(cells, _TABLE)


class Counted(Trace):
    """Number of kernels launched, and bytes of their tensors: a kernel reads or writes each whole, once."""

    launches = 0
    bytes = 0

    def add_launch(
        self, kernel: Any, grid: tuple[int, ...], arguments: Sequence[Any], constants: Mapping[str, Any]
    ) -> None:
        self.launches += 1
        self.bytes += sum(each.nbytes for each in arguments if hasattr(each, "data_ptr"))


def counted(run: Callable[[], object]) -> Counted:
    LAUNCHES.clear()
    count = Counted()
    with tracing(count):
        run()
    return count


def drawn(job: QuantizerJob, seed: int) -> Inputs:
    how: dict[str, Any] = {"dtype": torch.bfloat16, "device": current_device().place}
    dice = torch.Generator(how["device"]).manual_seed(seed)
    shapes = _KERNELS[job.kernel].inputs(job.rows, job.columns)
    return tuple(torch.randn(shape, generator=dice, **how) for shape in shapes)


def ours(job: QuantizerJob) -> Run:
    operands, history, run = job.operands, _history(job), _KERNELS[job.kernel].ours
    seeds = [SEED + place if each.spec.is_random else None for place, each in enumerate(operands)]
    return lambda inputs: run(*inputs, operands, seeds=seeds, history=history)


def result(job: QuantizerJob, inputs: Inputs) -> torch.Tensor:
    """bfloat16[rows, columns]: the tensor that a job quantizes."""
    if job.kernel is QuantizerKernel.QUANTIZE:
        return inputs[0]
    return _KERNELS[job.kernel].ours(*inputs, [None])[0]


def one_by_one(job: QuantizerJob, x: torch.Tensor) -> tuple[QuantizedTensor, ...]:
    """The copies of `ours`, each by a launch of its own, of the result x."""
    history = _history(job)
    return tuple(
        quantize(
            x,
            operand,
            seed=SEED + number if operand.spec.is_random else None,
            history=history if operand.spec.scale_rule.history else None,
        )
        for number, operand in enumerate(job.operands)
    )


def apart(job: QuantizerJob) -> Run | None:
    """Our kernel for the result in bf16, then its quantizer; None where there is nothing to compute."""
    if job.kernel is QuantizerKernel.QUANTIZE:
        return None
    plain, then = _KERNELS[job.kernel].ours, ours(replace(job, kernel=QuantizerKernel.QUANTIZE))
    return lambda inputs: then(plain(*inputs, [None]))


def operations(job: QuantizerJob) -> Callable[..., list[TorchCopy | None]]:
    """The quantizer in torch's operations, for torch.compile. Raises Unsupported where torch has none."""
    both = readings(RECIPES[job.recipe], LayerTensor(job.tensor))
    casts = casts_of([each for each in both if each.matmul.name in job.matmuls], (job.rows, job.columns))
    last, compute = None if _history(job) is None else _constant(1), _KERNELS[job.kernel].compute

    def run(*inputs: torch.Tensor) -> list[TorchCopy | None]:
        return cast_all(compute(*inputs), casts, last)

    return run


def _history(job: QuantizerJob) -> torch.Tensor | None:
    if not any(each.spec.scale_rule.history for each in job.operands):
        return None
    return _constant(2)


@cache
def _constant(size: int) -> torch.Tensor:
    return torch.full((size,), 8.0, device=current_device().place)


_TURN_US = 3_000.0
_ROUNDS = 7


def measure(
    job: QuantizerJob, *, progress: Callable[[float, str], None], stopped: Callable[[], bool]
) -> QuantizerRow:
    """Time a quantizer over rotated buffers, together more than twice the L2."""
    device = require_gpu()

    def between(done: float) -> None:
        halt_if(stopped)
        progress(done, "timing")

    with memory(job.title):
        sets = [drawn(job, number) for number in range(buffer_sets(job.bytes, device.l2_bytes))]
        run, alone = ours(job), apart(job)
        launches = counted(lambda: run(sets[0]))
        compiled = _compiled(job, sets[0])
        note = compiled if isinstance(compiled, str) else ""
        runs = {Peer.OURS: run, Peer.APART: alone, Peer.COMPILED: None if note else compiled}
        contenders = [_rotating(peer, each, sets) for peer, each in runs.items() if each is not None]
        contenders.append(Contender(Peer.COPY, [copy_launch(job.bytes // 2) for _ in sets]))
        times = interleaved([HotTurn(each, _TURN_US) for each in contenders], _ROUNDS, between)
    return measured(
        QuantizerRow,
        device,
        job=job,
        times={Peer(name): timing for name, timing in times.items()},
        note=note,
        # Under a delayed scale the first kernel is given a tensor that it need not read.
        moved_bytes=max(job.bytes, launches.bytes) if _history(job) is None else job.bytes,
        launches=launches.launches,
    )


def _rotating(name: str, run: Run, sets: list[Inputs]) -> Contender:
    """Launches over all sets. A set's results stay until its next launch: written memory rotates, too."""
    results: list[object] = [None] * len(sets)

    def launch(number: int) -> None:
        results[number] = run(sets[number])

    return Contender(name, [lambda number=number: launch(number) for number in range(len(sets))])


def _compiled(job: QuantizerJob, inputs: Inputs) -> Run | str:
    try:
        run = operations(job)
        # A number that differs from the last job's would become a variable, and a branch on it a refusal.
        torch.compiler.reset()
        keep_compiled_code()
        run_compiled = torch.compile(run, fullgraph=True, dynamic=False)
        run_compiled(*inputs)
        torch.cuda.synchronize()
    except torch.OutOfMemoryError:
        raise
    except REFUSALS as error:
        return first_line(error)
    return lambda inputs: run_compiled(*inputs)
