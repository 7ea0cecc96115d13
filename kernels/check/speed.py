"""How fast a GPU is: a copy, torch's bf16 and fp8, every recipe's GEMM, in turns, clock and power read."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import torch

from fp8core.formats import FORMATS
from kernels.check.facts import Facts
from kernels.check.products import drawn
from kernels.check.report import Group, Line, Verdict
from kernels.check.smi import Reading, Watch
from kernels.check.steps import BF16, COPY, FP8
from kernels.check.verdicts import copy_reference, recorded, reference_of, speed_line
from kernels.device import Device, Unsupported
from kernels.gemm import gemm, torch_dtype
from kernels.limits import GB_S, TFLOP_S, limits_of
from kernels.peers import REFUSALS, bf16_peer
from kernels.plan import GemmPlan, plan_gemm
from kernels.quantize import float8
from kernels.records import recorded_ceilings, recorded_rows
from kernels.rows import GemmJob
from kernels.shapes import CHECKED
from kernels.timing import Contender, HotTurn, buffer_sets, interleaved

ROUNDS, TURN_US = 5, 20_000.0
COPY_BYTES = 1 << 29
RECORDS = Path(__file__).resolve().parents[2] / "assets" / "bench"


def speed_job(recipe: str, matmul: str) -> GemmJob:
    """The GEMM that is timed; rows of this size are recorded."""
    m, n, k = CHECKED
    return GemmJob(recipe=recipe, matmul=matmul, m=m, n=n, k=k, runs=ROUNDS)


def time_torch(job: GemmJob, facts: Facts, device: Device, uuid: str) -> Iterator[Line]:
    """The lines of torch's own operations: copy, bf16 and, where torch has it, fp8."""
    operands = _operand_sets(job, device)
    source = torch.ones(COPY_BYTES // torch.float32.itemsize, device=device.place)
    target = torch.empty_like(source)
    contenders = [
        # Negated on the way: copy_ would be a memcpy node of the graph, which is slower than a kernel.
        Contender(COPY, [lambda: torch.neg(source, out=target)]),
        Contender(BF16, [bf16_peer(a, b, None) for a, b in operands]),
    ]
    fp8 = _fp8_launches(operands)
    if not isinstance(fp8, str):
        contenders.append(Contender(FP8, fp8))
    times, reading = _timed(contenders, uuid)
    copy_gb_s = 2 * COPY_BYTES / times[COPY] / 1e3
    copied = copy_reference(recorded_ceilings(RECORDS), facts.gpu)
    limits = limits_of(device)
    yield speed_line(
        COPY,
        copy_gb_s,
        GB_S,
        facts=facts,
        reading=reading,
        reference=copied,
        fault=limits.memory_fault(copy_gb_s),
    )
    row = recorded(recorded_rows(RECORDS), facts.gpu, job)
    rate = job.flop / times[BF16] / 1e6
    reference = reference_of(row, row.bf16.median_us if row and row.bf16 else None)
    yield speed_line(
        BF16,
        rate,
        TFLOP_S,
        facts=facts,
        reading=reading,
        reference=reference,
        fault=limits.bf16_fault(rate),
    )
    if isinstance(fp8, str):
        yield Line(name=FP8, group=Group.SPEED, verdict=Verdict.NOT_SUPPORTED, detail=fp8)
        return
    reference = reference_of(row, row.torch_scaled.median_us if row and row.torch_scaled else None)
    rate = job.flop / times[FP8] / 1e6
    yield speed_line(
        FP8,
        rate,
        TFLOP_S,
        facts=facts,
        reading=reading,
        times_bf16=times[BF16] / times[FP8],
        reference=reference,
        fault=limits.fault(rate),
    )


def _operand_sets(job: GemmJob, device: Device) -> list[tuple[torch.Tensor, ...]]:
    """bf16 A and B, as many times as it takes to be larger than twice the L2."""
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


def time_recipes(jobs: Mapping[str, GemmJob], facts: Facts, device: Device, uuid: str) -> Iterator[Line]:
    """The lines of our GEMMs of one matmul, by name, timed in turns with bf16 for the ratio."""
    rows = recorded_rows(RECORDS)
    contenders, refused = [], {}
    for name, job in jobs.items():
        plan = plan_gemm(job.recipe_data.spec(job.matmul_data), CHECKED, device, job.accumulation)
        if isinstance(plan, Unsupported):
            refused[name] = plan.reason
        else:
            contenders.append(Contender(name, _launches(job, plan, device)))
    operands = _operand_sets(next(iter(jobs.values())), device)
    contenders.append(Contender(BF16, [bf16_peer(a, b, None) for a, b in operands]))
    times, reading = _timed(contenders, uuid)
    limits = limits_of(device)
    for name, job in jobs.items():
        if name in refused:
            yield Line(name=name, group=Group.SPEED, verdict=Verdict.NOT_SUPPORTED, detail=refused[name])
            continue
        row, rate = recorded(rows, facts.gpu, job), job.flop / times[name] / 1e6
        yield speed_line(
            name,
            rate,
            TFLOP_S,
            facts=facts,
            reading=reading,
            times_bf16=times[BF16] / times[name],
            reference=reference_of(row, row.gemm.median_us if row and row.gemm else None),
            recorded_clock_mhz=row.machine.clock_mhz if row else None,
            fault=limits.fault(rate) or limits.bf16_fault(job.flop / times[BF16] / 1e6),
        )


def _launches(job: GemmJob, plan: GemmPlan, device: Device) -> list[Callable[[], torch.Tensor]]:
    """GEMMs over buffers that together are larger than twice the L2."""
    a, b = drawn(job, device).quantized()
    size = (job.m, job.n)
    bytes_a_set = a.codes.nbytes + b.codes.nbytes + job.m * job.n * plan.spec.out.bytes
    launches = []
    for number in range(buffer_sets(bytes_a_set, device.l2_bytes)):
        pair = (a, b) if number == 0 else drawn(job, device).quantized()
        out = torch.empty(size, dtype=torch_dtype(plan.spec.out), device=device.place)
        launches.append(lambda pair=pair, out=out: gemm(*pair, plan, out=out))
    return launches


def _timed(contenders: list[Contender], uuid: str) -> tuple[dict[str, float], Reading]:
    """Median microseconds of each contender, and what was read of the GPU meanwhile."""
    watch = Watch(uuid)
    with watch:
        turns = [HotTurn(contender, TURN_US) for contender in contenders]
        timings = interleaved(turns, ROUNDS, lambda done: None, loaded=[contenders[0].name])
    reading = watch.reading
    if reading.clock_mhz is None:
        load = timings.loads[contenders[0].name]
        reading = Reading(clock_mhz=load.clock_mhz, power_w=load.power_w)
    return {name: timing.median_us for name, timing in timings.by_name.items()}, reading
