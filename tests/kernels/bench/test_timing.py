"""Contract: contenders take turns, a time is the median over them, and a graph fills its turn."""

import gc
import weakref
from collections import Counter
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch
import triton
import triton.language as tl

from kernels.bench.timing import (
    COLD_LAUNCHES,
    MAX_SETS,
    ColdTurn,
    Contender,
    FlushBuffer,
    HotTurn,
    Load,
    buffer_sets,
    flush_buffer,
    interleaved,
    order,
    replays,
    timing,
)
from kernels.device import COMPILE_OPTIONS, current_device


class StandIn:
    """A turn that takes the times it is told, and notes that it ran."""

    def __init__(self, name, times, ran):
        self.name, self._times, self._ran = name, iter(times), ran

    def times_us(self):
        self._ran.append(self.name)
        return list(next(self._times))

    def load(self):
        self._ran.append(f"load of {self.name}")
        return Load(1500.0, 600.0)


def test_contenders_take_turns_and_the_load_is_read_once_their_times_are_known():
    ran, said = [], []
    turns = [StandIn("a", [[3.0], [1.0], [2.0]], ran), StandIn("b", [[9.0], [9.0], [9.0]], ran)]
    known = []
    timings = interleaved(turns, 3, said.append, loaded=lambda by_name: known.append(dict(by_name)) or ("a",))
    assert ran == ["a", "b", "a", "b", "a", "b", "load of a", "load of a"], "two alternate"
    assert known == [timings.by_name]
    assert said == [0.0, pytest.approx(1 / 3), pytest.approx(2 / 3)]
    assert timings.by_name["a"].median_us == 2.0
    assert timings.by_name["b"].runs == 3
    assert timings.loads == {"a": Load(1500.0, 600.0)}


@pytest.mark.parametrize("count", [3, 4, 5, 6, 7])
def test_each_contender_follows_every_other_one_and_never_itself(count):
    rounds = 2 * count
    turns = [place for number in range(rounds) for place in order(count, number)]
    assert all(sorted(order(count, number)) == [*range(count)] for number in range(rounds))
    pairs = Counter(pairwise(turns))
    assert not any(before == after for before, after in pairs)
    assert len(pairs) == count * (count - 1), "each after each"
    for place in range(count):
        most = max(times for (_, after), times in pairs.items() if after == place)
        assert most <= rounds * 2 / 3, "nobody always after the same one"


def test_one_and_two_contenders_take_turns():
    assert [order(1, number) for number in range(3)] == [[0], [0], [0]]
    assert [order(2, number) for number in range(3)] == [[0, 1], [0, 1], [0, 1]]


def test_a_turn_of_several_figures_counts_each():
    turns = [StandIn("cold", [[4.0, 1.0], [2.0, 3.0]], [])]
    found = interleaved(turns, 2, lambda done: None).by_name["cold"]
    assert (found.median_us, found.runs) == (2.5, 4)
    assert 1.0 < found.p20_us < found.median_us < found.p80_us < 4.0


def test_one_figure_is_its_own_spread():
    found = timing([7.0])
    assert (found.median_us, found.p20_us, found.p80_us, found.runs) == (7.0, 7.0, 7.0, 1)


def test_a_graph_is_replayed_to_fill_its_turn():
    assert replays(250_000, 20_000) == 12
    assert replays(20_000, 20_500) == 1
    assert replays(20_000, 10**6) == 1
    assert replays(1_000, 0.0) == 1000


def test_buffers_rotate_beyond_twice_the_l2():
    assert buffer_sets(60 << 20, 60 << 20) == 3
    assert buffer_sets(1 << 30, 60 << 20) == 1
    assert buffer_sets(1, 60 << 20) == MAX_SETS


class FakeCuda:
    """What turns need of torch.cuda: a graph is what was done while it was captured, a launch takes 10 µs on
    a clock that only launches and writes move, and an event that is captured is recorded at each replay.
    """

    def __init__(self):
        self.now, self.done, self._capture = 0.0, [], None
        self.CUDAGraph = lambda: Graph(self)
        self.Event = lambda enable_timing, external=False: Event(self)
        self.Stream = lambda: type("Stream", (), {"wait_stream": lambda own, other: None})()
        self.current_stream = self.Stream
        self.stream = lambda stream: nullcontext()
        self.synchronize = lambda: None

    @contextmanager
    def graph(self, graph, stream):
        assert stream is not None, "else all graphs of a process are captured on one GPU"
        self._capture = graph.nodes
        yield
        self._capture = None

    def do(self, name, us, also=lambda: None):
        def node():
            self.now += us
            self.done.append(name)
            also()

        if self._capture is None:
            node()
        else:
            self._capture.append(node)


class Graph:
    def __init__(self, cuda):
        self.nodes, self._cuda = [], cuda

    def replay(self):
        for node in self.nodes:
            node()


class Event:
    def __init__(self, cuda):
        self._cuda, self.at = cuda, None

    def record(self):
        self._cuda.do("event", 0.0, lambda: setattr(self, "at", self._cuda.now))

    def synchronize(self):
        assert self.at is not None

    def elapsed_time(self, later):
        return (later.at - self.at) / 1e3


@pytest.fixture
def cuda(monkeypatch):
    made = FakeCuda()
    for module in ("timing", "capture"):
        monkeypatch.setattr(f"kernels.bench.{module}.torch", SimpleNamespace(cuda=made))
    return made


def test_a_cold_turn_flushes_before_each_launch_and_times_the_launch_alone(cuda):
    flush = SimpleNamespace(read=lambda: cuda.do("flush", 70.0))
    turn = ColdTurn(Contender("x", [lambda: cuda.do("launch", 10.0)]), flush)
    cuda.done.clear()
    assert turn.times_us() == pytest.approx([10.0] * COLD_LAUNCHES)
    assert cuda.done == ["flush", "event", "launch", "event"] * COLD_LAUNCHES


def test_a_flush_reads_every_word_of_it_and_writes_none():
    words = torch.arange(1000, dtype=torch.float32)
    before = words.clone()
    assert FlushBuffer(words).read().item() == before.sum().item()
    assert torch.equal(words, before)


@pytest.mark.parametrize("settle_us", [100_000.0, 1_000_000.0])
def test_a_cold_turn_is_timed_once_the_clock_has_settled(cuda, settle_us):
    flush = SimpleNamespace(read=lambda: cuda.do("flush", 70.0))
    turn = ColdTurn(Contender("x", [lambda: cuda.do("launch", 10.0)]), flush, settle_us)
    cuda.done.clear()
    assert turn.times_us() == pytest.approx([10.0] * COLD_LAUNCHES)
    replayed = len(cuda.done) // (4 * COLD_LAUNCHES)
    assert cuda.done == ["flush", "event", "launch", "event"] * COLD_LAUNCHES * replayed
    assert (replayed - 1) * COLD_LAUNCHES * 80.0 == pytest.approx(settle_us, rel=0.1)


@pytest.mark.parametrize(
    ("turn_us", "launches"), [(20_000.0, 2000), (250_000.0, 25_000), (1_000.0, 100), (5.0, 3)]
)
def test_a_hot_turn_fills_its_time_with_every_buffer_in_turn(cuda, turn_us, launches):
    contender = Contender("x", [lambda n=n: cuda.do(n, 10.0) for n in range(3)])
    turn = HotTurn(contender, turn_us)
    cuda.done.clear()
    assert turn.times_us() == pytest.approx([10.0])
    ran = [name for name in cuda.done if name != "event"]
    assert len(ran) == pytest.approx(launches, rel=0.1)
    assert ran[:3] == [0, 1, 2]
    assert set(ran) == {0, 1, 2}
    assert cuda.done[0] == cuda.done[-1] == "event"
    assert cuda.done.count("event") == 2


@pytest.mark.parametrize(("turn_us", "settle_us"), [(20_000.0, 100_000.0), (250_000.0, 60_000.0)])
def test_a_turn_is_timed_once_the_clock_has_settled(cuda, turn_us, settle_us):
    turn, each_us = HotTurn(Contender("x", [lambda: cuda.do("x", 10.0)]), turn_us, settle_us), 10.0
    cuda.done.clear()
    assert turn.times_us() == pytest.approx([each_us])
    first = cuda.done.index("event")
    assert first * each_us == pytest.approx(settle_us, rel=0.1), "till then nothing is timed"
    assert (len(cuda.done) - first - 2) * each_us == pytest.approx(turn_us, rel=0.1)


class Memory:
    """A tensor on the stand-in."""

    def __init__(self, cuda):
        self._cuda = cuda

    def fill_(self, value):
        self._cuda.do("write", 10.0)

    def read(self):
        self._cuda.do("read", 10.0)


@pytest.mark.parametrize("make", [lambda own, flush: HotTurn(own, 5.0), ColdTurn], ids=["hot", "cold"])
def test_a_turn_holds_the_memory_that_its_graph_works_on(cuda, make):
    """Else the next capture gives it back to the GPU."""
    flush, buffer = Memory(cuda), Memory(cuda)
    held = [weakref.ref(buffer), weakref.ref(flush)]
    turn = make(Contender("x", [lambda own=buffer: own.fill_(0)]), flush)
    del flush, buffer
    gc.collect()
    needed = held if isinstance(turn, ColdTurn) else held[:1]
    assert all(memory() is not None for memory in needed)


WALKERS, STRIDE = 64, 32
"""Chains followed side by side, too few to be bound by bandwidth; int32 from a link to the next, in the next
line of the L2.
"""


@triton.jit
def walk_kernel(next_ptr, end_ptr, STEPS: tl.constexpr, STRIDE: tl.constexpr):
    """Each program follows STEPS links: no load can start before the one before it has ended."""
    place = tl.program_id(0) * STEPS * STRIDE
    for _ in range(STEPS):
        place = tl.load(next_ptr + place)
    tl.store(end_ptr + tl.program_id(0), place)


@pytest.mark.alone
@pytest.mark.gpu
def test_a_flush_makes_loads_wait_for_memory_as_rotated_buffers_do():
    """A walk through a quarter of the L2 is nothing but the latency of its loads. What memory's is beside the
    L2's, the hot turns say themselves: over one buffer, and over enough of them to leave the L2.
    """
    l2 = current_device().l2_bytes
    steps = l2 // 4 // (WALKERS * STRIDE * torch.int32.itemsize)
    links = torch.arange(STRIDE, (WALKERS * steps + 1) * STRIDE, dtype=torch.int32, device="cuda")
    buffers = [links, *(links.clone() for _ in range(buffer_sets(links.nbytes, l2) - 1))]
    end = torch.zeros(WALKERS, dtype=torch.int32, device="cuda")
    options = {"num_warps": 1, **COMPILE_OPTIONS}
    walks = [lambda own=own: walk_kernel[(WALKERS,)](own, end, steps, STRIDE, **options) for own in buffers]
    cold = ColdTurn(Contender("cold", walks[:1]), flush_buffer(l2))
    hot = [HotTurn(Contender(f"{count}", walks[:count]), 5_000.0) for count in (1, len(walks))]
    found = interleaved([cold, *hot], 5, lambda done: None).by_name
    flushed, near, far = found["cold"], found["1"], found[f"{len(walks)}"]
    assert end.tolist() == [(walker + 1) * steps * STRIDE for walker in range(WALKERS)]
    assert (flushed.runs, near.runs) == (5 * COLD_LAUNCHES, 5)
    assert 0 < near.p80_us < far.p20_us, "the L2 and memory can be told apart"
    assert flushed.p20_us > (near.median_us + far.median_us) / 2, "a flushed load waits for memory"
    assert (cold.load().clock_mhz or 1000) > 100
