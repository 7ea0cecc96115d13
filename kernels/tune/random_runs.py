"""A random draw on the GPU: kernels compile in other processes while those that are ready are timed."""

import time
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType

from kernels.bench.job import GemmJob
from kernels.bench.operands import least_bytes
from kernels.bench.timing import interleaved
from kernels.device import Device
from kernels.gemm.blocks import Blocks
from kernels.gemm.simple.blocks import built_in
from kernels.tune.compilers import Compilers
from kernels.tune.random_work import Task, kernel_of
from kernels.tune.sample import Sample
from kernels.tune.stopwatch import Bench, GraphTurn, compile_drawn


@dataclass(frozen=True)
class Timed:
    """Microseconds of a task's launches, by blocks, and of torch's ops by name."""

    task: Task
    ours: dict[Blocks, float]
    peers: dict[str, float]

    @property
    def samples(self) -> list[Sample]:
        """The times that the cost model learns from, and torch's best."""
        drawn = self.task.drawn
        found = [Sample(gemm=drawn, blocks=blocks, us=round(us, 3)) for blocks, us in self.ours.items()]
        if self.peers:
            found.append(Sample(gemm=drawn, blocks=None, us=round(min(self.peers.values()), 3)))
        return found

    @property
    def least_bytes(self) -> int:
        """The least traffic of the GEMM."""
        m, n, k = self.task.drawn.mnk
        job = GemmJob(recipe=self.task.drawn.recipe, matmul=self.task.drawn.matmul, m=m, n=n, k=k)
        return least_bytes(job, self.task.plan)


class Runs:
    """Times tasks one after another; all their kernels are compiled ahead, in `workers` processes."""

    def __init__(
        self, tasks: Sequence[Task], device: Device, workers: int, rounds: int, turn_us: float
    ) -> None:
        self._tasks, self._device = tasks, device
        self._rounds, self._turn_us = rounds, turn_us
        self._compilers = Compilers(compile_drawn, workers)
        self._compiled: dict[Hashable, Future[str]] = {}
        self.faults: list[str] = []
        for task in tasks:
            truth = built_in(task.plan.meaning, task.drawn.mnk, device)
            for blocks in (*task.blocks, truth):
                key = kernel_of(task.plan, blocks, task.drawn)
                if key not in self._compiled:
                    self._compiled[key] = self._compilers.submit(task.drawn, task.plan, blocks)

    def __enter__(self) -> "Runs":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._compilers.__exit__(kind, error, trace)

    @property
    def kernels(self) -> int:
        """Number of kernels to compile, those of the built-in blocks with them."""
        return len(self._compiled)

    def timed(self, until: float) -> Iterator[Timed]:
        """The tasks' times; none begins after `until` (time.monotonic)."""
        for task in self._tasks:
            if time.monotonic() > until:
                return
            yield self._one(task)

    def _one(self, task: Task) -> Timed:
        bench = Bench(task.drawn, task.plan, self._device)
        names: dict[str, Blocks] = {}
        turns: list[GraphTurn] = []
        for place, blocks in enumerate(task.blocks):
            fault = self._fault(task, blocks)
            if not fault and not bench.is_near(blocks):
                fault = f"{blocks.title}: D is far from that of the built-in blocks"
            if fault:
                self.faults.append(f"{task.drawn.recipe} {task.drawn.matmul} {task.drawn.mnk}: {fault}")
            else:
                names[str(place)] = blocks
                turns.append(GraphTurn(str(place), bench.launches(blocks), self._turn_us))
        peers = bench.peers()
        turns += [GraphTurn(name, launches, self._turn_us) for name, launches in peers.items()]
        found = interleaved(turns, self._rounds, lambda done: None).by_name if turns else {}
        ours = {blocks: found[name].median_us for name, blocks in names.items()}
        return Timed(task, ours, {name: found[name].median_us for name in peers})

    def _fault(self, task: Task, blocks: Blocks) -> str:
        """Why blocks cannot run, once their kernel is compiled; empty where they can."""
        fault = self._compilers.fault(self._compiled[kernel_of(task.plan, blocks, task.drawn)])
        return fault and f"{blocks.title}: {fault}"
