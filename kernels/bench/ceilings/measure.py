"""Measure one CeilingsJob: a device copy, a bf16 and an fp8 matmul, each the fastest that torch has."""

from collections.abc import Callable

import torch

from kernels.bench.ceilings.job import COPY_BYTES, MATMUL_SIDE, Ceiling, Ceilings, CeilingsJob
from kernels.bench.ceilings.limits import Impossible, ceilings_fault, limits_of
from kernels.bench.commit import commit
from kernels.bench.machine import Timing
from kernels.bench.measure import StoppedEarly, machine_here, today
from kernels.bench.peers.attempt import attempt
from kernels.bench.timing import Contender, HotTurn, Launch, Load, Timings, Turn, interleaved
from kernels.device import Device, DeviceKind, Unsupported, current_device

TURN_US = 250_000.0
"""Long enough for the power limit to show."""
_COPY, _BF16, _FP8 = "copy", "bf16", "fp8"
_FLOP = 2 * MATMUL_SIDE**3


def measure(
    job: CeilingsJob, *, progress: Callable[[float, str], None], stopped: Callable[[], bool]
) -> Ceilings:
    """Run one job on this process's GPU; progress(fraction, the work at hand) as it goes.

    Raises Unsupported where there is no GPU, Impossible for a rate that it cannot reach, NoTriton,
    MemoryError, and StoppedEarly once `stopped()` is true.
    """
    device = current_device()
    if device.kind is not DeviceKind.GPU:
        raise Unsupported(f"ceilings are a GPU's, and this is {device.name}: nothing was run")

    def between(done: float) -> None:
        if stopped():
            raise StoppedEarly
        progress(done, f"timing, {done:.0%}")

    progress(0.0, "drawing operands")
    try:
        launches, note = _launches()
        turns = [HotTurn(Contender(name, [launch]), TURN_US) for name, launch in launches.items()]
        return ceilings_of(job, turns, device, note, between)
    except torch.OutOfMemoryError as error:
        raise MemoryError(f"{job.size} do not fit into the memory of this GPU") from error
    finally:
        torch.cuda.empty_cache()


def ceilings_of(
    job: CeilingsJob, turns: list[Turn], device: Device, note: str, between: Callable[[float], None]
) -> Ceilings:
    """The rates of the turns named copy, bf16 and fp8. Without an fp8 turn, `note` says why.

    Raises Impossible for a rate that the GPU cannot reach.
    """
    timings = interleaved(turns, job.runs, between, loaded=lambda by_name: (_COPY, _BF16, _FP8))
    has_fp8 = _FP8 in timings.by_name
    found = Ceilings(
        job=job,
        machine=machine_here(device, Load()),
        date=today(),
        copy_gb_s=_ceiling(timings, _COPY, 2 * COPY_BYTES / 1e3),
        bf16_tflop_s=_ceiling(timings, _BF16, _FLOP / 1e6),
        fp8_tflop_s=_ceiling(timings, _FP8, _FLOP / 1e6) if has_fp8 else None,
        fp8_note="" if has_fp8 else note,
        commit=commit(),
    )
    fault = ceilings_fault(found, limits_of(device))
    if fault:
        raise Impossible(fault)
    return found


def _ceiling(timings: Timings, name: str, amount: float) -> Ceiling:
    """The rate of `amount` per microsecond. The 20th percentile of a rate is the 80th percentile of
    its time.
    """
    time: Timing = timings.by_name[name]
    load = timings.loads.get(name, Load())
    return Ceiling(
        median=amount / time.median_us,
        p20=amount / time.p80_us,
        p80=amount / time.p20_us,
        runs=time.runs,
        clock_mhz=load.clock_mhz,
        power_w=load.power_w,
    )


def _launches() -> tuple[dict[str, Launch], str]:
    """The launches to time, by name, on normal data, and why fp8 is missing where it is.

    Raises torch.OutOfMemoryError.
    """
    source = torch.randn(COPY_BYTES // torch.float32.itemsize, device="cuda")
    target = torch.empty_like(source)
    a, b = (torch.randn(MATMUL_SIDE, MATMUL_SIDE, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    # Negated on the way: copy_ would be a memcpy node of the graph, which is slower than a kernel.
    launches: dict[str, Launch] = {
        _COPY: lambda: torch.neg(source, out=target),
        _BF16: lambda: torch.mm(a, b.T),
    }
    fp8 = _scaled_mm(a, b)
    if error := attempt(fp8, a.device):
        return launches, f"torch {torch.__version__} refuses it: {str(error).splitlines()[0]}"
    return launches | {_FP8: fp8}, ""


def _scaled_mm(a: torch.Tensor, b: torch.Tensor) -> Launch:
    """torch._scaled_mm of two tensors in e4m3. Each has the scale that maps its amax to the
    format's maximum.
    """
    codes, scales = [], []
    for x in (a, b):
        scale = x.abs().amax().float() / torch.finfo(torch.float8_e4m3fn).max
        codes.append((x / scale).to(torch.float8_e4m3fn))
        scales.append(scale)
    left, right = codes[0], codes[1].T
    return lambda: torch._scaled_mm(left, right, *scales, out_dtype=torch.bfloat16, use_fast_accum=True)
