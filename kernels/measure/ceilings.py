"""Measure a GPU's ceilings: a device copy, a bf16 and an fp8 matmul, each the fastest that torch has."""

from collections.abc import Callable, Sequence

import torch

from kernels.device import Device
from kernels.measure.commands import figure, job_parser, run_jobs
from kernels.measure.jobs import COPY_BYTES, MATMUL_SIDE, CeilingsJob
from kernels.measure.machine import halt_if, measured, memory, require_gpu
from kernels.measure.records import CEILINGS
from kernels.measure.rows import Ceilings, Peer
from kernels.measure.timing import Contender, HotTurn, Launch, Turn, copy_launch, interleaved
from kernels.measure.torch_peers import attempt, bf16_peer, fp8_peer
from kernels.text_table import columns, text

TURN_US = 250_000.0  # long enough for the power limit to show

_RATES = {
    Peer.COPY: ("copy, read + written", "GB/s"),
    Peer.BF16: ("bf16 torch.mm", "TFLOP/s"),
    Peer.FP8: ("fp8 torch._scaled_mm", "TFLOP/s"),
}


def main(arguments: Sequence[str]) -> int:
    parser = job_parser("ceilings", "Measure what this GPU reaches: copy, bf16 and fp8.")
    parser.add_argument("--runs", type=int, default=CeilingsJob.runs, help="rounds (default %(default)s)")
    options = parser.parse_args(arguments)
    return run_jobs(options, [CeilingsJob(runs=options.runs)], measure, CEILINGS, show=_table)


def _table(row: Ceilings) -> str:
    lines = []
    for peer, (name, unit) in _RATES.items():
        if peer not in row.times:
            lines.append((name, row.note))
            continue
        # The 20th percentile of a rate is the 80th percentile of its time.
        median, low, high = (row.rate(peer, which) for which in ("median_us", "p80_us", "p20_us"))
        clock, power = (figure(getattr(row.times[peer], each), ".0f") for each in ("clock_mhz", "power_w"))
        spread = f"(p20 {low:.0f}, p80 {high:.0f})"
        lines.append((name, f"{median:.0f} {unit} {spread} at {clock} MHz, {power} W"))
    return f"{row.machine.name}, {row.date}\n{text(columns(lines))}"


def measure(
    job: CeilingsJob, *, progress: Callable[[float, str], None], stopped: Callable[[], bool]
) -> Ceilings:
    device = require_gpu()

    def between(done: float) -> None:
        halt_if(stopped)
        progress(done, f"timing, {done:.0%}")

    progress(0.0, "drawing operands")
    with memory(job.size):
        shape = MATMUL_SIDE, MATMUL_SIDE
        a, b = (torch.randn(shape, dtype=torch.bfloat16, device="cuda") for _ in range(2))
        launches: dict[Peer, Launch] = {Peer.COPY: copy_launch(COPY_BYTES), Peer.BF16: bf16_peer(a, b)}
        launches[Peer.FP8], note = fp8_peer(a, b), ""
        if error := attempt(launches[Peer.FP8], a.device):
            del launches[Peer.FP8]
            note = f"torch {torch.__version__} refuses it: {str(error).splitlines()[0]}"
        turns = [HotTurn(Contender(name, [launch]), TURN_US) for name, launch in launches.items()]
        return ceilings_of(job, turns, device, note, between)


def ceilings_of(
    job: CeilingsJob, turns: list[Turn], device: Device, note: str, between: Callable[[float], None]
) -> Ceilings:
    by_name = interleaved(turns, job.runs, between, loaded=lambda by_name: [*by_name])
    times = {Peer(name): timing for name, timing in by_name.items()}
    return measured(Ceilings, device, job=job, times=times, note="" if Peer.FP8 in times else note)
