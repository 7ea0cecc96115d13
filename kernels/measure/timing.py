"""Fair times of GPU work: contenders take turns, and each finds the L2 in the same state.

A card under load lowers its clock, and the first contender would look fastest. So every round gives each
contender a turn, in an order that changes; its time is the median over the rounds. A turn replays CUDA
graphs: the time is the GPU's, not Python's.

Hot turns run back to back, over buffers that rotate through more than the L2 holds. Cold turns flush the L2
before each launch and time it alone. The flush reads: written lines would go to memory during the launch.
Both can settle first: a card at its power limit keeps the clock of the work before for a while. In short
turns all contenders share one clock, so one that draws less power gains nothing by it.
"""

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from statistics import median, quantiles
from typing import Protocol

import torch

from kernels.measure.rows import Timing
from kernels.nvml import Gauges, Watch

_EMPTY = "The CUDA Graph is empty"


class EmptyGraph(RuntimeError):
    pass


@contextmanager
def capturing(graph: torch.cuda.CUDAGraph) -> Iterator[None]:
    """Capture launches into a graph, on a new stream of the GPU in use. Raises EmptyGraph.

    Torch would capture on one stream of the process's first GPU, and miss launches on another.
    """
    with warnings.catch_warnings(record=True) as warned:
        warnings.filterwarnings("always", message=_EMPTY)
        with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
            yield
    for warning in warned:
        if str(warning.message).startswith(_EMPTY):
            raise EmptyGraph(
                "a CUDA graph was captured with no launch in it: the launches went to another GPU or stream, "
                "so there is nothing to time"
            )
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


MAX_LAUNCHES = 2000
MAX_SETS = 256
COLD_LAUNCHES = 10
_GRAPH_US = 20_000.0
_LOAD_US = 300_000.0
_LOAD_TURNS = 4
_WARM_UP = 3
_FLUSHES = 3
"""Sizes of the L2 that a flush reads: an L2 need not drop its oldest line."""

Launch = Callable[[], object]


@dataclass(frozen=True)
class Contender:
    name: str
    launches: Sequence[Launch]


def copy_launch(size: int) -> Launch:
    source = torch.randn(max(1, size // torch.float32.itemsize), device="cuda")
    target = torch.empty_like(source)
    # Negated on the way: copy_ would be a memcpy node of the graph, which is slower than a kernel.
    return lambda: torch.neg(source, out=target)


Loaded = Callable[[Mapping[str, Timing]], Collection[str]]


class Turn(Protocol):
    """A contender's turn in a round. It holds its tensors, because a graph knows only addresses."""

    name: str

    def times_us(self) -> list[float]: ...

    def load(self) -> Gauges: ...


def buffer_sets(bytes_a_set: int, l2_bytes: int) -> int:
    """Number of buffer sets that exceed twice the L2; at most MAX_SETS, for tiny shapes."""
    return min(MAX_SETS, 1 + 2 * l2_bytes // max(bytes_a_set, 1))


def interleaved(
    turns: Sequence[Turn], rounds: int, between: Callable[[float], None], loaded: Loaded = lambda by_name: ()
) -> dict[str, Timing]:
    """Times by name, over `rounds` rounds of all turns, in an order that changes.

    `between(fraction done)` is called before each round. The clock and power of the contenders that `loaded`
    names, given their times, are read at the end.
    """
    times: list[list[float]] = [[] for _ in turns]
    for number in range(rounds):
        between(number / rounds)
        for index in order(len(turns), number):
            times[index] += turns[index].times_us()
    by_name = {turn.name: timing(own) for turn, own in zip(turns, times, strict=True)}
    names = loaded(by_name)
    watched = [turn for turn in turns if turn.name in names]
    for turn in watched[:1]:
        turn.load()  # Else the first one's clock would be that of a card that still gets warm.
    for turn in watched:
        load = turn.load()
        by_name[turn.name] = replace(by_name[turn.name], clock_mhz=load.clock_mhz, power_w=load.power_w)
    return by_name


def order(count: int, number: int) -> list[int]:
    """The order of `count` contenders in a round: 0, 1, -1, 2, -2 …, moved one on every round.

    Over the rounds each contender follows each other one about equally often. After E. J. Williams,
    "Experimental designs balanced for the estimation of residual effects of treatments" (1949).
    """
    start = number if count > 2 else 0  # two can only alternate
    steps = [(index + 1) // 2 * (1 if index % 2 else -1) for index in range(count)]
    if count % 2 and number % 2 and count > 2:  # an odd number needs the mirror image too
        steps.reverse()
    return [(start + step) % count for step in steps]


class HotTurn:
    """Launches back to back for `turn_us`: a CUDA graph of many launches, replayed, after `settle_us`
    untimed.
    """

    def __init__(self, contender: Contender, turn_us: float, settle_us: float = 0.0) -> None:
        self.name = contender.name
        self._contender = contender
        self._turn_us = turn_us
        launches = contender.launches
        _warm_up(launches)
        self._count = len(launches)
        self._graph = _captured(launches, self._count)
        each_us = max(run_us(self._graph.replay, 1) / self._count, 1.0)
        count = min(MAX_LAUNCHES, int(min(_GRAPH_US, turn_us) / each_us))
        if count > self._count:
            self._count, self._graph = count, _captured(launches, count)
        each_us = run_us(self._graph.replay, 1)
        self._settling = replays(settle_us, each_us) if settle_us else 0
        self._replays = replays(turn_us, each_us)

    def times_us(self) -> list[float]:
        for _ in range(self._settling):
            self._graph.replay()
        return [run_us(self._graph.replay, self._replays) / (self._replays * self._count)]

    def load(self) -> Gauges:
        return _load_of(self._graph, max(_LOAD_US, _LOAD_TURNS * self._turn_us))


class ColdTurn:
    """COLD_LAUNCHES launches in one CUDA graph, each timed alone after a flush of the L2.

    Events around each launch are nodes of the graph: neither Python nor the flush is in the time. The graph
    runs untimed for `settle_us` first.
    """

    def __init__(self, contender: Contender, flush: Launch, settle_us: float = 0.0) -> None:
        self.name = contender.name
        self._contender, self._flush = contender, flush
        launches = contender.launches
        _warm_up(launches)
        # External events become nodes of the graph, so that each replay records them.
        node = partial(torch.cuda.Event, enable_timing=True, external=True)
        self._pairs = [(node(), node()) for _ in range(COLD_LAUNCHES)]
        self._graph = torch.cuda.CUDAGraph()
        with capturing(self._graph):
            for number, (started, ended) in enumerate(self._pairs):
                flush()
                started.record()
                launches[number % len(launches)]()
                ended.record()
        each_us = run_us(self._graph.replay, 1)
        self._settling = replays(settle_us, each_us) if settle_us else 0

    def times_us(self) -> list[float]:
        for _ in range(self._settling + 1):
            self._graph.replay()
        torch.cuda.synchronize()
        return [started.elapsed_time(ended) * 1e3 for started, ended in self._pairs]

    def load(self) -> Gauges:
        return _load_of(self._graph, _LOAD_US)


def flush_launch(l2_bytes: int) -> Launch:
    """Read every word of a buffer: the sum depends on all of them, so no load can be left out."""
    words = torch.ones(max(_FLUSHES * l2_bytes // torch.float32.itemsize, 1), device="cuda")
    total = torch.zeros((), device=words.device)
    return lambda: torch.sum(words, dim=0, out=total)


def replays(turn_us: float, graph_us: float) -> int:
    return max(1, round(turn_us / max(graph_us, 1.0)))


def timing(times_us: Sequence[float]) -> Timing:
    fifths = quantiles(times_us, n=5, method="inclusive") if len(times_us) > 1 else times_us
    return Timing(median_us=median(times_us), p20_us=fifths[0], p80_us=fifths[-1], runs=len(times_us))


def _warm_up(launches: Sequence[Launch]) -> None:
    """Compile on a separate stream, as a capture requires."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for number in range(_WARM_UP):
            launches[number % len(launches)]()
    torch.cuda.current_stream().wait_stream(stream)


def _captured(launches: Sequence[Launch], count: int) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    with capturing(graph):
        for number in range(count):
            launches[number % len(launches)]()
    graph.replay()
    torch.cuda.synchronize()
    return graph


def run_us(run: Launch, times: int) -> float:
    started, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    started.record()
    for _ in range(times):
        run()
    ended.record()
    ended.synchronize()
    return started.elapsed_time(ended) * 1e3


def _load_of(graph: torch.cuda.CUDAGraph, load_us: float) -> Gauges:
    uuid = str(torch.cuda.get_device_properties(torch.cuda.current_device()).uuid)
    with Watch(f"GPU-{uuid}") as watch:
        for _ in range(1 + int(load_us / max(run_us(graph.replay, 1), 1.0))):
            graph.replay()
        torch.cuda.synchronize()
    return watch.gauges
