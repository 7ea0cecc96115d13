"""The speed of a GPU: a copy, then torch's matmuls in turns with every recipe's GEMM; clock and
power read.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch

from fp8core.formats import FORMATS
from kernels.bench.ceilings.limits import GB_S, TFLOP_S, limits_of
from kernels.bench.job import GemmJob
from kernels.bench.operands import held_bytes
from kernels.bench.peers.attempt import REFUSALS
from kernels.bench.peers.torch_ops import bf16_peer
from kernels.bench.records import recorded_ceilings, recorded_rows
from kernels.bench.shapes import CHECKED
from kernels.bench.timing import Contender, HotTurn, buffer_sets, interleaved
from kernels.check.facts import Facts
from kernels.check.names import BF16, COPY, FP8
from kernels.check.products import drawn
from kernels.check.reading import Reading, reading_of
from kernels.check.report import Group, Line, Reference, Verdict
from kernels.check.verdicts import copy_reference, recorded, reference_of, speed_line
from kernels.device import Device, Unsupported
from kernels.gemm.launch import gemm, torch_dtype
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.nvml import Watch
from kernels.paths import RECORDS
from kernels.quantize.tensor import float8

ROUNDS, TURN_US = 5, 20_000.0
WARM_S = 0.3
COPY_BYTES = 1 << 29


def speed_job(recipe: str, matmul: str) -> GemmJob:
    """The GEMM that is timed; rows of this size are recorded."""
    m, n, k = CHECKED
    return GemmJob(recipe=recipe, matmul=matmul, m=m, n=n, k=k, runs=ROUNDS)


@dataclass(frozen=True, kw_only=True)
class Timed:
    """Matmuls that took turns: microseconds by name, bf16 among them, and the reasons where others have no
    time.

    It also holds the GPU's clock and power during the turns.
    """

    times: Mapping[str, float]
    refused: Mapping[str, str]
    reading: Reading

    @property
    def names(self) -> set[str]:
        """The names of all matmuls that were to take turns."""
        return {*self.times, *self.refused}


def time_copy(facts: Facts, device: Device, uuid: str) -> Line:
    """The line of a copy, timed by itself.

    A copy draws less power than a matmul, so a matmul right after it would find a higher clock.
    """
    source = torch.ones(COPY_BYTES // torch.float32.itemsize, device=device.place)
    target = torch.empty_like(source)
    # Negated on the way: copy_ would be a memcpy node of the graph, which is slower than a kernel.
    times, reading = timed([Contender(COPY, [lambda: torch.neg(source, out=target)])], uuid)
    gb_s = 2 * COPY_BYTES / times[COPY] / 1e3
    return speed_line(
        COPY,
        gb_s,
        GB_S,
        facts=facts,
        reading=reading,
        reference=copy_reference(recorded_ceilings(RECORDS), facts.gpu),
        fault=limits_of(device).memory_fault(gb_s),
    )


def take_turns(
    first: GemmJob, jobs: Mapping[str, GemmJob], device: Device, uuid: str, *, with_fp8: bool = False
) -> Timed:
    """Time our GEMMs of one matmul, by name, in turns with bf16 torch.mm and, if requested, torch's fp8.

    All of them share one clock, so that their ratios are fair. `first` gives the shape of torch's operands.
    """
    operands, refused = _operand_sets(first, device), {}
    contenders = [Contender(BF16, [bf16_peer(a, b, None) for a, b in operands])]
    if with_fp8:
        fp8 = _fp8_launches(operands)
        if isinstance(fp8, str):
            refused[FP8] = fp8
        else:
            contenders.append(Contender(FP8, fp8))
    for name, job in jobs.items():
        mnk = job.m, job.n, job.k
        plan = plan_gemm(job.recipe_data.spec(job.matmul_data), mnk, device, job.accumulation)
        if isinstance(plan, Unsupported):
            refused[name] = plan.reason
        else:
            contenders.append(Contender(name, _launches(job, plan, device)))
    times, reading = timed(contenders, uuid)
    return Timed(times=times, refused=refused, reading=reading)


def torch_lines(job: GemmJob, timed: Timed, facts: Facts, device: Device) -> Iterator[Line]:
    """The lines of torch's own matmuls: bf16 and, where torch has it, fp8."""
    row = recorded(recorded_rows(RECORDS), facts.gpu, job)
    rate = job.flop / timed.times[BF16] / 1e6
    yield speed_line(
        BF16,
        rate,
        TFLOP_S,
        facts=facts,
        reading=timed.reading,
        reference=reference_of(row, row.bf16.median_us if row and row.bf16 else None),
        fault=limits_of(device).bf16_fault(rate),
    )
    recorded_us = row.torch_scaled.median_us if row and row.torch_scaled else None
    yield _line(FP8, job, timed, facts, device, reference_of(row, recorded_us))


def recipe_lines(jobs: Mapping[str, GemmJob], timed: Timed, facts: Facts, device: Device) -> Iterator[Line]:
    """The lines of our GEMMs of one matmul, by name."""
    rows = recorded_rows(RECORDS)
    for name, job in jobs.items():
        row = recorded(rows, facts.gpu, job)
        reference = reference_of(row, row.gemm.median_us if row and row.gemm else None)
        clock = row.machine.clock_mhz if row else None
        yield _line(name, job, timed, facts, device, reference, clock)


def _line(
    name: str,
    job: GemmJob,
    timed: Timed,
    facts: Facts,
    device: Device,
    reference: Reference | None,
    clock_mhz: float | None = None,
) -> Line:
    """The line of a matmul in fp8, beside the bf16 of the same turns; or the reason why it has no time."""
    if name in timed.refused:
        detail = timed.refused[name]
        return Line(name=name, group=Group.SPEED, verdict=Verdict.NOT_SUPPORTED, detail=detail)
    rate, bf16 = (job.flop / timed.times[each] / 1e6 for each in (name, BF16))
    limits = limits_of(device)
    return speed_line(
        name,
        rate,
        TFLOP_S,
        facts=facts,
        reading=timed.reading,
        bf16=bf16,
        reference=reference,
        recorded_clock_mhz=clock_mhz,
        fault=limits.fault(rate) or limits.bf16_fault(bf16),
    )


def _operand_sets(job: GemmJob, device: Device) -> list[tuple[torch.Tensor, ...]]:
    """bf16 A and B, in enough copies to exceed twice the L2."""
    numbers = job.m * job.k + job.n * job.k + job.m * job.n
    sets = buffer_sets(numbers * FORMATS["bf16"].bytes, device.l2_bytes)
    return [drawn(job, device).as_operands() for _ in range(sets)]


def _fp8_launches(operands: list[tuple[torch.Tensor, ...]]) -> list[Callable[[], torch.Tensor]] | str:
    """torch._scaled_mm of e4m3, one scale a tensor, fast accumulation; or why torch has none here."""
    dtype, one = float8(FORMATS["e4m3"]), torch.ones((), device=operands[0][0].device)
    launches = []
    for pair in operands:
        a, b = (x.contiguous().to(dtype) for x in pair)

        def launch(a: torch.Tensor = a, b: torch.Tensor = b) -> torch.Tensor:
            return torch._scaled_mm(
                a, b.T, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
            )

        launches.append(launch)
    try:
        launches[0]()
        torch.cuda.synchronize()
    except torch.OutOfMemoryError:
        raise
    except REFUSALS as error:
        return f"torch {torch.__version__} has no fp8 matmul here: {str(error).splitlines()[0]}"
    return launches


def _launches(job: GemmJob, plan: GemmPlan, device: Device) -> list[Callable[[], torch.Tensor]]:
    """GEMMs over buffers that together are larger than twice the L2."""
    a, b = drawn(job, device).quantized()
    size = (job.m, job.n)
    bytes_a_set = held_bytes(a) + held_bytes(b) + job.m * job.n * plan.meaning.spec.out.bytes
    launches = []
    for number in range(buffer_sets(bytes_a_set, device.l2_bytes)):
        pair = (a, b) if number == 0 else drawn(job, device).quantized()
        out = torch.empty(size, dtype=torch_dtype(plan.meaning.spec.out), device=device.place)
        launches.append(lambda pair=pair, out=out: gemm(*pair, plan, out=out))
    return launches


def timed(contenders: list[Contender], uuid: str) -> tuple[dict[str, float], Reading]:
    """Median microseconds of each contender, and the GPU's clock and power during the turns.

    A GPU that has waited for a compiler is at a low clock. So the turns run untimed first.
    """
    with Watch(uuid) as watch:
        turns = [HotTurn(contender, TURN_US) for contender in contenders]
        until = time.monotonic() + WARM_S
        while time.monotonic() < until:
            for turn in turns:
                turn.times_us()
        timings = interleaved(turns, ROUNDS, lambda done: None, loaded=lambda by_name: [contenders[0].name])
    reading = reading_of(watch.gauges)
    if reading.clock_mhz is None:
        load = timings.loads[contenders[0].name]
        reading = Reading(clock_mhz=load.clock_mhz, power_w=load.power_w)
    return {name: timing.median_us for name, timing in timings.by_name.items()}, reading
