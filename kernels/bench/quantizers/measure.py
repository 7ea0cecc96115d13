"""Time one quantizer on this process's GPU, in turns with a copy and with torch.compile."""

from collections.abc import Callable

import torch

from kernels.bench.ceilings.limits import Impossible, limits_of
from kernels.bench.commit import commit
from kernels.bench.machine import Timing
from kernels.bench.measure import machine_here, require_gpu, today
from kernels.bench.peers.attempt import REFUSALS
from kernels.bench.quantizers.counted import counted
from kernels.bench.quantizers.job import QuantizerJob
from kernels.bench.quantizers.peers import Inputs, Run, apart, compiled, copy_of, drawn, ours
from kernels.bench.quantizers.row import QuantizerRow
from kernels.bench.timing import Contender, HotTurn, Load, buffer_sets, interleaved
from kernels.device import Device
from kernels.faults import first_line

TURN_US = 3_000.0
ROUNDS = 7
_OURS, _APART, _COMPILED, _COPY = "ours", "apart", "torch.compile", "copy"


def measure(
    job: QuantizerJob,
    *,
    rounds: int = ROUNDS,
    turn_us: float = TURN_US,
    with_compiled: bool = True,
    between: Callable[[float], None] = lambda done: None,
) -> QuantizerRow:
    """Time a quantizer over rotated buffers that together are larger than twice the L2.

    Raises Unsupported where there is no GPU or no kernel, Impossible for a time that the GPU cannot reach,
    and MemoryError.
    """
    device = require_gpu()
    try:
        return _measured(job, device, rounds, turn_us, with_compiled, between)
    except torch.OutOfMemoryError as error:
        raise MemoryError(f"{job.title} does not fit into the memory of this GPU") from error
    finally:
        torch.cuda.empty_cache()


def _measured(
    job: QuantizerJob,
    device: Device,
    rounds: int,
    turn_us: float,
    with_compiled: bool,
    between: Callable[[float], None],
) -> QuantizerRow:
    count = buffer_sets(job.bytes, device.l2_bytes)
    sets = [drawn(job, number) for number in range(count)]
    run, note = ours(job), "" if with_compiled else "torch.compile was not asked for"
    launches = counted(lambda: run(sets[0]))
    contenders = [_rotating(_OURS, run, sets)]
    if (alone := apart(job)) is not None:
        contenders.append(_rotating(_APART, alone, sets))
    if with_compiled:
        made = _compiled(job, sets[0])
        if isinstance(made, str):
            note = made
        else:
            contenders.append(_rotating(_COMPILED, made, sets))
    copy, draw = copy_of(job.bytes)
    contenders.append(_rotating(_COPY, copy, [draw() for _ in range(count)]))
    turns = [HotTurn(contender, turn_us) for contender in contenders]
    times = interleaved(turns, rounds, between).by_name
    delayed = any(each.spec.scale_rule.history for each in job.operands)
    row = QuantizerRow(
        job=job,
        ours=times[_OURS],
        apart=times.get(_APART),
        compiled=times.get(_COMPILED),
        compiled_note=note,
        copy_gb_s=job.bytes / times[_COPY].median_us / 1e3,
        bytes=job.bytes,
        # Under a delayed scale the first kernel is given a tensor that it need not read.
        moved_bytes=job.bytes if delayed else max(job.bytes, launches.bytes),
        launches=launches.launches,
        gpu=device.name,
        date=today(),
        versions=machine_here(device, Load()).versions,
        turns=rounds,
        commit=commit(),
    )
    for timing in times.values():
        _check(job, timing, device)
    return row


def _check(job: QuantizerJob, timing: Timing, device: Device) -> None:
    fault = limits_of(device).memory_fault(job.bytes / timing.median_us / 1e3)
    if fault:
        raise Impossible(fault)


def _rotating(name: str, run: Run, sets: list[Inputs]) -> Contender:
    """Launches over all sets. Each set's results are kept until they are made anew: written memory rotates,
    too.
    """
    kept: list[object] = [None] * len(sets)

    def launch(number: int) -> None:
        kept[number] = run(sets[number])

    return Contender(name, [lambda number=number: launch(number) for number in range(len(sets))])


def _compiled(job: QuantizerJob, given: Inputs) -> Run | str:
    """torch.compile of the job, which has run once; or why there is none."""
    try:
        made = compiled(job)
        made(given)
        torch.cuda.synchronize()
    except torch.OutOfMemoryError:
        raise
    except REFUSALS as error:
        return first_line(error)
    return made
