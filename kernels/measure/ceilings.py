"""Measure one CeilingsJob: a device copy, a bf16 and an fp8 matmul, each the fastest that torch has."""

from collections.abc import Callable

import torch

from kernels.device import Device
from kernels.measure.jobs import COPY_BYTES, MATMUL_SIDE, CeilingsJob
from kernels.measure.machine import halt_if, measured, memory, require_gpu
from kernels.measure.rows import Ceilings, Peer
from kernels.measure.timing import Contender, HotTurn, Launch, Turn, copy_launch, interleaved
from kernels.measure.torch_peers import attempt, bf16_peer, fp8_peer

TURN_US = 250_000.0  # long enough for the power limit to show


def measure(
    job: CeilingsJob, *, progress: Callable[[float, str], None], stopped: Callable[[], bool]
) -> Ceilings:
    """Raises Unsupported without a GPU, Impossible for a rate that it cannot reach, MemoryError, and
    StoppedEarly once `stopped()` is true.
    """
    device = require_gpu()

    def between(done: float) -> None:
        halt_if(stopped)
        progress(done, f"timing, {done:.0%}")

    progress(0.0, "drawing operands")
    with memory(job.size):
        launches, note = _launches()
        turns = [HotTurn(Contender(name, [launch]), TURN_US) for name, launch in launches.items()]
        return ceilings_of(job, turns, device, note, between)


def ceilings_of(
    job: CeilingsJob, turns: list[Turn], device: Device, note: str, between: Callable[[float], None]
) -> Ceilings:
    by_name = interleaved(turns, job.runs, between, loaded=lambda by_name: [*by_name])
    times = {Peer(name): timing for name, timing in by_name.items()}
    return measured(Ceilings, device, job=job, times=times, note="" if Peer.FP8 in times else note)


def _launches() -> tuple[dict[Peer, Launch], str]:
    a, b = (torch.randn(MATMUL_SIDE, MATMUL_SIDE, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    launches: dict[Peer, Launch] = {Peer.COPY: copy_launch(COPY_BYTES), Peer.BF16: bf16_peer(a, b, None)}
    fp8 = fp8_peer(a, b)
    if error := attempt(fp8, a.device):
        return launches, f"torch {torch.__version__} refuses it: {str(error).splitlines()[0]}"
    return launches | {Peer.FP8: fp8}, ""
