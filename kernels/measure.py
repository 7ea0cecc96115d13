"""One GemmJob, measured: draw, quantize, multiply, compare with fp64, time beside torch's own operations.

A, the operand that flows (x in Fprop, dy in Dgrad and Wgrad), is drawn from the job's kind of input; B is
Gaussian. Both are rounded to bf16 first, and errors are counted from those bf16 numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from platform import python_version

import torch

from fp8core.inputs import InputKind, draw
from fp8core.linear import Side
from kernels.device import Device, DeviceKind, Unsupported, current_device
from kernels.exactness import Errors, errors
from kernels.gemm import gemm, torch_dtype
from kernels.machine import Machine, Timing
from kernels.peers import bf16_peer, scaled_peer
from kernels.plan import GemmPlan, plan_gemm
from kernels.predict import check, predictable
from kernels.quantize import QuantizedTensor, quantize
from kernels.rows import GemmJob, Prediction, Provenance, Row
from kernels.timing import Contender, Timings, buffer_sets, time_interleaved

_DRAWN, _QUANTIZED, _COMPARED, _CHECKED, _DONE = 0.1, 0.15, 0.3, 0.35, 1.0

Progress = Callable[[float, str], None]
Stopped = Callable[[], bool]


class StoppedEarly(Exception):
    """The job was asked to stop."""


def measure(job: GemmJob, *, progress: Progress, stopped: Stopped) -> Row:
    """Run and measure one job on this process's device; progress(fraction, what is at hand) as it goes.

    Raises Unsupported where the plan refuses, NoTriton, StoppedEarly
    once `stopped()` is true, MemoryError where the job does not fit.
    """
    try:
        return _measure(job, progress, stopped)
    except torch.OutOfMemoryError as error:
        _drawn.cache_clear()
        raise MemoryError(
            f"M × N × K = {job.m} × {job.n} × {job.k} does not fit into the memory of this GPU: "
            f"{str(error).splitlines()[0]}"
        ) from error
    finally:
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()


def _measure(job: GemmJob, progress: Progress, stopped: Stopped) -> Row:
    def tell(fraction: float, note: str) -> None:
        progress(fraction, note)
        if stopped():
            raise StoppedEarly

    device = current_device()
    plan = plan_gemm(job.recipe_data.spec(job.matmul_data), (job.m, job.n, job.k), device, job.accumulation)
    if isinstance(plan, Unsupported):
        raise plan
    tell(0.0, "drawing A and B")
    operands = Operands.drawn(job, device)
    tell(_DRAWN, "quantizing and multiplying")
    a, b = operands.quantized()
    out = torch.full((job.m, job.n), torch.nan, dtype=torch_dtype(plan.spec.out), device=a.codes.device)
    gemm(a, b, plan, out=out)
    tell(_QUANTIZED, "comparing with fp64")
    found = errors(out, *operands.as_operands(), a, b)
    prediction = None
    if job.flop and predictable(plan, device.capability):
        tell(_COMPARED, "predicting sampled outputs bit for bit")
        prediction = check(plan, a, b, out, job.seed)
    del out
    timings, note = None, "no times: the interpreter's speed says nothing about a GPU's"
    if device.kind is DeviceKind.GPU:
        tell(_CHECKED, "timing")
        timings, note = _time(job, plan, operands, device, tell)
    progress(_DONE, "done")
    return _row(job, plan, device, found, timings, note, prediction)


@dataclass(frozen=True)
class Operands:
    """The bf16 tensors of a job, in stored orientation."""

    job: GemmJob
    a: torch.Tensor
    b: torch.Tensor

    @classmethod
    def drawn(cls, job: GemmJob, device: Device) -> "Operands":
        layer = job.matmul_data.layer(job.m, job.n, job.k)
        where = "cuda" if device.kind is DeviceKind.GPU else "cpu"
        shapes = (layer.of(job.matmul_data.a), layer.of(job.matmul_data.b))
        return cls(
            job,
            _drawn(job.input, shapes[0], 2 * job.seed, where),
            _drawn(InputKind.GAUSSIAN, shapes[1], 2 * job.seed + 1, where),
        )

    def copied(self) -> "Operands":
        """The same numbers in other memory."""
        return Operands(self.job, self.a.clone(), self.b.clone())

    def as_operands(self) -> tuple[torch.Tensor, torch.Tensor]:
        """bf16 views A [M, K] and B [N, K]."""
        return tuple(
            x.T if self.job.matmul_data.k_is_rows(side) else x
            for side, x in ((Side.A, self.a), (Side.B, self.b))
        )

    def quantized(self) -> tuple[QuantizedTensor, QuantizedTensor]:
        recipe, matmul = self.job.recipe_data, self.job.matmul_data
        return tuple(
            quantize(
                x,
                recipe.grid(matmul, side, tuple(x.shape)),
                recipe.spec(matmul).operand(side),
                k_is_rows=matmul.k_is_rows(side),
            )
            for side, x in ((Side.A, self.a), (Side.B, self.b))
        )


@lru_cache(maxsize=2)
def _drawn(kind: InputKind, shape: tuple[int, int], seed: int, where: str) -> torch.Tensor:
    return torch.from_numpy(draw(kind, shape, seed)).to(where).bfloat16()


def _time(
    job: GemmJob,
    plan: GemmPlan,
    operands: Operands,
    device: Device,
    tell: Callable[[float, str], None],
) -> tuple[Timings | None, str]:
    """Times of the GEMM, of quantizing, and of torch's counterparts, and why one of them is missing."""
    if not job.flop:
        return None, "no times: an empty matmul"
    sets = [operands] + [
        operands.copied() for _ in range(buffer_sets(_bytes(job, plan), device.l2_bytes) - 1)
    ]
    pairs = [own.quantized() for own in sets]
    outs = [torch.empty((job.m, job.n), dtype=torch_dtype(plan.spec.out), device="cuda") for _ in sets]
    contenders = [
        Contender("gemm", [lambda p=p, o=o: gemm(*p, plan, out=o) for p, o in zip(pairs, outs, strict=True)]),
        Contender("quantize", [own.quantized for own in sets]),
        Contender("bf16", [bf16_peer(*own.as_operands()) for own in sets]),
    ]
    peers = [scaled_peer(*pair, plan) for pair in pairs[:1]]
    note = peers[0] if isinstance(peers[0], str) else ""
    if not note:
        peers += [scaled_peer(*pair, plan) for pair in pairs[1:]]
        contenders.append(Contender("torch_scaled", peers))
    span = _DONE - _CHECKED
    timings = time_interleaved(
        contenders, job.runs, lambda done: tell(_CHECKED + span * done, f"timing, {done:.0%}")
    )
    return timings, note


def _bytes(job: GemmJob, plan: GemmPlan) -> int:
    """Least traffic of the GEMM: codes, scales and D once each."""
    recipe, matmul = job.recipe_data, job.matmul_data
    layer = matmul.layer(job.m, job.n, job.k)
    total = job.m * job.n * plan.spec.out.bytes
    for side in Side:
        shape, spec = layer.of(matmul.operand(side)), plan.spec.operand(side)
        tall, wide = recipe.grid(matmul, side, shape).scale_shape
        total += shape[0] * shape[1] * spec.format.bytes + tall * wide * spec.scale.format.bytes
    return total


def _row(
    job: GemmJob,
    plan: GemmPlan,
    device: Device,
    found: Errors,
    timings: Timings | None,
    note: str,
    prediction: Prediction | None,
) -> Row:
    by_name: dict[str, Timing] = dict(timings.by_name) if timings else {}
    return Row(
        job=job,
        provenance=Provenance.GPU if device.kind is DeviceKind.GPU else Provenance.INTERPRETER,
        machine=Machine(
            name=device.name,
            capability=device.capability,
            versions={
                "python": python_version(),
                "torch": torch.__version__,
                "triton": version("triton"),
            },
            clock_mhz=timings.clock_mhz if timings else None,
            power_w=timings.power_w if timings else None,
        ),
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        kernel=plan.title,
        out=plan.spec.out.name,
        rel_err=found.rel_err,
        quantization_rel_err=found.quantization_rel_err,
        kernel_rel_err=found.kernel_rel_err,
        error_map=found.error_map,
        worst=found.worst,
        bytes=_bytes(job, plan),
        gemm=by_name.get("gemm"),
        quantize=by_name.get("quantize"),
        bf16=by_name.get("bf16"),
        torch_scaled=by_name.get("torch_scaled"),
        peer_note=note,
        error_note="" if found.rows == job.m else f"errors over {found.rows} of {job.m} rows of D, in bands",
        prediction=prediction,
    )
