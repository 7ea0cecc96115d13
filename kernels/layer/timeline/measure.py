"""Measure one TimelineJob: every way makes the step in turns, then each is looked at kernel by kernel."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from kernels.bench.capture import capturing
from kernels.bench.ceilings.limits import Impossible, limits_of
from kernels.bench.commit import commit
from kernels.bench.machine import Timing
from kernels.bench.measure import halt_if, machine_here, require_gpu, today
from kernels.bench.timing import Contender, HotTurn, Load, Turn, interleaved, replays
from kernels.device import Device, Unsupported, current_device
from kernels.faults import first_line
from kernels.layer.timeline.block import Tensors
from kernels.layer.timeline.events import by_events
from kernels.layer.timeline.job import TimelineJob, Way
from kernels.layer.timeline.labels import Told
from kernels.layer.timeline.row import Clock, KernelRun, LayerRow, LeftOut, Timeline
from kernels.layer.timeline.trace import NoKernels, labelled, profiled, ran, timed
from kernels.layer.timeline.ways import Ready, ready

_WARM_UP = 3
_PROFILED = 7
"""Steps in a row whose kernels are timed; each figure is the median."""
_SETTLE_US = 250_000.0
"""A card that was idle runs faster than one at its power limit for longer than the tenth of a second."""
_US_A_MS = 1e3
_READY, _TIMED = 0.4, 0.8
_EAGER = ", eager"


def measure(
    job: TimelineJob,
    *,
    progress: Callable[..., None],
    stopped: Callable[[], bool],
    so_far: Timeline | None = None,
    ways: Sequence[Way] = tuple(Way),
) -> Timeline:
    """Time a job's ways, bf16 always among them. A way that cannot be is left out with its reason.

    All ways take turns, so that rows come at the end; each new one is told with the progress. Where `so_far`
    has rows, the other ways take turns with bf16 again. Raises Unsupported where there is no GPU,
    StoppedEarly once `stopped()` is true, Impossible for a time that the GPU cannot reach, and MemoryError.
    """
    require_gpu()
    made = so_far or Timeline(job=job, rows=())
    had = {one.way for one in (*made.rows, *made.left_out)}
    wanted = [way for way in Way if way is Way.BF16 or way in ways]
    if had.issuperset(wanted):
        return made
    try:
        return _measured(
            made, [way for way in wanted if way is Way.BF16 or way not in had], progress, stopped
        )
    except torch.OutOfMemoryError as error:
        raise MemoryError(
            f"{job.size} does not fit into the memory of this GPU: {first_line(error)}"
        ) from error
    finally:
        if Way.COMPILED in wanted:
            torch._dynamo.reset()  # its compiled functions are those of a job's shapes
        torch.cuda.empty_cache()


def _measured(
    made: Timeline, ways: Sequence[Way], progress: Callable[..., None], stopped: Callable[[], bool]
) -> Timeline:
    """What was made before, and these ways; bf16 is there once."""
    job, device = made.job, current_device()
    tensors = Tensors.of(job)
    found: list[Ready] = []
    left_out = list(made.left_out)
    for number, way in enumerate(ways):
        halt_if(stopped)
        progress(_READY * number / len(ways), f"making ready: {way.title}")
        try:
            one = ready(way, job, tensors, device)
            for _ in range(_WARM_UP):
                one.run()
            found.append(one)
        except Unsupported as unsupported:
            left_out.append(LeftOut(way=way, reason=unsupported.reason))
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            if way is not Way.COMPILED:
                raise
            reason = f"torch.compile does not take the casts: {first_line(error)}"
            left_out.append(LeftOut(way=way, reason=reason))
    made, had = replace(made, left_out=tuple(left_out)), {row.way for row in made.rows}
    if had.issuperset(one.way for one in found):
        return made  # what is left of bf16's turns would be bf16 alone
    times = _times(job, found, progress, stopped)
    for number, one in enumerate(found):
        if one.way in had:
            continue
        halt_if(stopped)
        done, note = _TIMED + (1 - _TIMED) * number / len(found), f"kernel by kernel: {one.way.title}"
        progress(done, note, made if made.rows else None)
        made = replace(made, rows=(*made.rows, _row(job, one, times, device)))
    progress(1.0, "done")
    return made


@dataclass(frozen=True)
class _Times:
    """Times of steps, eager and in graphs, and why a way has no graph."""

    by_name: Mapping[str, Timing]
    loads: Mapping[str, Load]
    refusals: Mapping[Way, str]


class _EagerTurn:
    """Steps from Python, one after the other, without waiting for the GPU between them."""

    def __init__(self, one: Ready, turn_us: float) -> None:
        self.name = one.way.value + _EAGER
        self._run = one.run
        self._steps = replays(turn_us, self._taken_us(2))

    def times_us(self) -> list[float]:
        """Microseconds a step, the mean over the turn."""
        return [self._taken_us(self._steps)]

    def load(self) -> Load:
        """Nothing: the graph's is asked for."""
        return Load()

    def _taken_us(self, steps: int) -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(steps):
            self._run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * _US_A_MS / steps


def _times(
    job: TimelineJob, found: Sequence[Ready], progress: Callable[..., None], stopped: Callable[[], bool]
) -> _Times:
    """All ways in turns, each eager and in a graph where it can be captured."""
    turn_us, refusals = job.turn_ms * _US_A_MS, {}
    turns: list[Turn] = []
    for one in found:
        try:
            turns.append(HotTurn(Contender(one.way.value, [one.run]), turn_us))
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:  # a capture that is not allowed; EmptyGraph is one, too
            refusals[one.way] = f"No CUDA graph: {first_line(error)}."
        turns.append(_EagerTurn(one, turn_us))

    def between(done: float) -> None:
        halt_if(stopped)
        progress(_READY + (_TIMED - _READY) * done, "timing in turns")

    names = {one.way.value for one in found}
    taken = interleaved(turns, job.rounds, between, lambda by_name: names & set(by_name))
    return _Times(taken.by_name, taken.loads, refusals)


def _row(job: TimelineJob, one: Ready, times: _Times, device: Device) -> LayerRow:
    graph, step_eager = times.by_name.get(one.way.value), times.by_name[one.way.value + _EAGER]
    limits = limits_of(device)
    fault = limits.fault(job.flop / (graph or step_eager).median_us / 1e6)
    if fault:
        raise Impossible(fault)
    kernels, clock, in_graph = _kernels(one, captured=graph is not None)
    said = (one.note(), times.refusals.get(one.way, ""))
    bf16 = Way.BF16.value
    return LayerRow(
        job=job,
        way=one.way,
        machine=machine_here(device, times.loads.get(one.way.value, Load())),
        date=today(),
        clock=clock,
        in_graph=in_graph,
        kernels=kernels,
        eager=step_eager,
        graph=graph,
        bf16=times.by_name.get(bf16) or times.by_name[bf16 + _EAGER],
        held_bytes=one.held(),
        weight_bytes=one.weight_bytes,
        note=" ".join(filter(None, said)),
        commit=commit(),
    )


def _kernels(one: Ready, *, captured: bool) -> tuple[tuple[KernelRun, ...], Clock, bool]:
    """The kernels of a step, the source of their times, and whether they ran in a graph."""
    told = Told()
    try:
        with one.listening(told):
            trace = profiled(lambda: one.step(told))
        labels = labelled(trace, told)
    except NoKernels:
        return by_events(one, _PROFILED), Clock.EVENTS, False
    if captured:
        graph = torch.cuda.CUDAGraph()
        with capturing(graph):
            one.run()
        found = timed(labels, _again(graph.replay), _PROFILED)
        if found is not None:
            return found, Clock.PROFILER, True
    found = timed(labels, _again(one.run), _PROFILED)
    if found is None:
        raise Unsupported(
            f"the kernels of {one.way.title} come in another order in each step: there is no timeline of them"
        )
    return found, Clock.PROFILER, False


def _again(run: Callable[[], object]) -> list:
    """What the GPU runs in several steps in a row, once the clock has settled."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    run()
    end.record()
    end.synchronize()
    for _ in range(replays(_SETTLE_US, start.elapsed_time(end) * _US_A_MS)):
        run()

    def several() -> None:
        for _ in range(_PROFILED):
            run()

    return ran(profiled(several))
