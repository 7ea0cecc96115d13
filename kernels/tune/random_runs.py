"""A random draw on the GPU: kernels compile in other processes while those that are ready are timed."""

import time
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from kernels.bench.timing import interleaved
from kernels.device import Device
from kernels.gemm.blocks import Blocks
from kernels.tune.random_work import Task, kernel_of
from kernels.tune.sample import Sample
from kernels.tune.stopwatch import Bench, GraphTurn, compile_drawn


class Runs:
    """Times tasks one after another; all their kernels are compiled ahead, in `workers` processes."""

    def __init__(
        self, tasks: Sequence[Task], device: Device, *, workers: int, rounds: int, turn_us: float, peers: bool
    ) -> None:
        self._tasks, self._device, self._peers = tasks, device, peers
        self._rounds, self._turn_us = rounds, turn_us
        self._pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
        self._compiled: dict[Hashable, Future[str]] = {}
        for task in tasks:
            for blocks in task.blocks:
                key = kernel_of(task.plan, blocks, task.drawn)
                if key not in self._compiled:
                    self._compiled[key] = self._pool.submit(compile_drawn, task.drawn, task.plan, blocks)
        self.faults: list[str] = []

    @property
    def kernels(self) -> int:
        """Kernels to compile."""
        return len(self._compiled)

    def timed(self, until: float) -> Iterator[tuple[Task, dict[Blocks, float], dict[str, float]]]:
        """(task, microseconds by blocks, microseconds by torch's op); none begins after `until`
        (time.monotonic).
        """
        try:
            for task in self._tasks:
                if time.monotonic() > until:
                    break
                yield self._one(task)
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _one(self, task: Task) -> tuple[Task, dict[Blocks, float], dict[str, float]]:
        bench = Bench(task.drawn, task.plan, self._device)
        turns: list[GraphTurn] = []
        names: dict[str, Blocks] = {}
        for place, blocks in enumerate(task.blocks):
            fault = self._fault(task, blocks)
            if not fault:
                fault = "" if bench.is_near(blocks) else f"{blocks.title}: D is far from the plan's"
            if fault:
                self.faults.append(f"{task.drawn.recipe} {task.drawn.matmul} {task.drawn.mnk}: {fault}")
                continue
            names[str(place)] = blocks
            turns.append(GraphTurn(str(place), bench.launches(blocks), self._turn_us))
        peers = bench.peers() if self._peers else {}
        turns += [GraphTurn(name, launches, self._turn_us) for name, launches in peers.items()]
        if not turns:
            return task, {}, {}
        found = interleaved(turns, self._rounds, lambda done: None).by_name
        ours = {blocks: found[name].median_us for name, blocks in names.items()}
        return task, ours, {name: found[name].median_us for name in peers}

    def _fault(self, task: Task, blocks: Blocks) -> str:
        try:
            return self._compiled[kernel_of(task.plan, blocks, task.drawn)].result()
        except BrokenProcessPool:
            return f"{blocks.title}: the process that compiled it ended"


def samples_of(task: Task, ours: dict[Blocks, float], peers: dict[str, float]) -> list[Sample]:
    """What the cost model learns from a task, and torch's best time."""
    found = [Sample(gemm=task.drawn, blocks=blocks, us=round(us, 3)) for blocks, us in ours.items()]
    if peers:
        found.append(Sample(gemm=task.drawn, blocks=None, us=round(min(peers.values()), 3)))
    return found
