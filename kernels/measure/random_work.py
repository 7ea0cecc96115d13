"""A random draw: its GEMMs, the blocks to time for each, and files of times.

Kernels compile in other processes while those that are ready are timed.
"""

import json
import time
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from random import Random

from fp8core.linear import MATMULS, LayerShape
from kernels.device import Device, Unsupported
from kernels.gemm.blocks import Blocks, Variant
from kernels.gemm.choose import ranked
from kernels.gemm.hopper.blocks import RING_VARIANTS
from kernels.gemm.launch import gemm
from kernels.gemm.meaning import Meaning, meaning_of
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.gemm.simple.blocks import built_in
from kernels.gemm.variants import refusal
from kernels.measure.exactness import is_near
from kernels.measure.jobs import GemmJob
from kernels.measure.machine import memory
from kernels.measure.operands import Operands
from kernels.measure.random_timing import Timed, timed
from kernels.measure.tune_job import launch_once
from kernels.precompile import Precompile
from kernels.typed import Positive, from_data, to_data


def meaning_of_job(job: GemmJob, device: Device) -> Meaning:
    """What a GEMM computes on a device. Raises Unsupported where it cannot be."""
    meaning = meaning_of(job.recipe_data.spec(job.matmul_data), device, job.accumulation)
    if isinstance(meaning, Unsupported):
        raise meaning
    return meaning


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The time of a GEMM under blocks; of torch's best op where there are none."""

    gemm: GemmJob
    blocks: Blocks | None
    us: Positive


def read_samples(path: Path) -> list[Sample]:
    """Samples from a file, one a line. Raises ValueError for a line that is none."""
    return [from_data(Sample, json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def samples_of(timed: Timed) -> Iterator[Sample]:
    """The times that the cost model learns from, and torch's best."""
    for blocks, us in timed.by_blocks.items():
        yield Sample(gemm=timed.row.job, blocks=blocks, us=round(us, 3))
    torch_us = timed.row.us(timed.row.peer)
    if torch_us:
        yield Sample(gemm=timed.row.job, blocks=None, us=round(torch_us, 3))


def written(samples: Iterable[Sample]) -> str:
    """The text of a file of samples."""
    return "".join(json.dumps(to_data(sample)) + "\n" for sample in samples)


_ALIGNED = 16
"""Triton compiles a kernel anew for sizes that this divides."""


@dataclass(frozen=True)
class Task:
    """A GEMM, its plan, and the blocks to time for it, the plan's first."""

    job: GemmJob
    plan: GemmPlan
    blocks: tuple[Blocks, ...]


def drawn_gemms(
    layers: Sequence[LayerShape], recipes: Collection[str], matmuls: Collection[str], **how: int
) -> Iterator[GemmJob]:
    """Every matmul of every recipe on each layer; `how` has fields of all jobs, such as the seed."""
    for layer, recipe, matmul in product(layers, recipes, matmuls):
        m, n, k = MATMULS[matmul].mnk(layer)
        yield GemmJob(recipe=recipe, matmul=matmul, m=m, n=n, k=k, **how)


class Chooser:
    """Chooses what to time: the plan's blocks, the model's best, and some at random.

    Those at random are taken among kernels that are needed anyway once `most` kernels of a family are: to
    compile one takes longer than to time it.
    """

    def __init__(self, device: Device, best: int, others: int, most: int, seed: int) -> None:
        self._device, self._best, self._others, self._most = device, best, others, most
        self._dice = Random(seed)
        self._kernels: dict[Hashable, set[Hashable]] = {}

    def task(self, job: GemmJob) -> Task | Unsupported:
        """What to time for a GEMM, or why there is nothing."""
        spec = job.recipe_data.spec(job.matmul_data)
        plan = plan_gemm(spec, job.mnk, self._device, job.accumulation)
        if isinstance(plan, Unsupported):
            return plan
        chosen = {plan.blocks: None}
        if self._best or self._others:
            able = [
                variant for variant in Variant if not refusal(variant, plan.meaning, job.mnk, self._device)
            ]
            best = [blocks for _, blocks in ranked(plan.meaning, job.mnk, self._device, able)]
            kernels = self._kernels.setdefault(plan.meaning.seen, set())
            rest = best[self._best :]
            self._dice.shuffle(rest)
            for blocks in (*best[: self._best], *rest):
                key = kernel_of(plan, blocks, job.mnk)
                if len(chosen) > self._best + self._others:
                    break
                if key in kernels or len(kernels) < self._most:
                    chosen[blocks] = None
                    kernels.add(key)
        return Task(job, plan, tuple(chosen))


def kernel_of(plan: GemmPlan, blocks: Blocks, mnk: tuple[int, int, int]) -> Hashable:
    """Equal for blocks of GEMMs that one compiled kernel serves."""
    m, _, k = mnk
    rows = min(blocks.block_m, 1 << (m - 1).bit_length()) if not blocks.variant.is_simple else 0
    if blocks.variant in RING_VARIANTS:  # its code is one for all shapes and orders of blocks
        blocks, aligned = replace(blocks, group=1), ()
    else:
        aligned = (*(size % _ALIGNED == 0 for size in mnk), *(size == 1 for size in mnk))
    return plan.meaning.seen, blocks, blocks.runs(k)[0], rows, aligned


class Runs:
    """Times tasks one after another; all their kernels are compiled ahead, in `workers` processes.

    faults: why a GEMM, or some blocks for it, have no time.
    """

    def __init__(self, tasks: Sequence[Task], device: Device, workers: int) -> None:
        self._tasks, self._device = tasks, device
        self._compilers = Precompile(workers)
        self._compiled: dict[Hashable, Future[str]] = {}
        self.faults: list[str] = []
        for task in tasks:
            for blocks in (*task.blocks, built_in(task.plan.meaning, task.job.mnk, device)):
                key = kernel_of(task.plan, blocks, task.job.mnk)
                if key not in self._compiled:
                    self._compiled[key] = self._compilers.submit(launch_once, task.job, blocks, True)

    def __enter__(self) -> "Runs":
        return self

    def __exit__(self, *error: object) -> None:
        self._compilers.stop()

    @property
    def kernels(self) -> int:
        """Number of kernels to compile, those of the built-in blocks with them."""
        return len(self._compiled)

    def timed(self, until: float) -> Iterator[Timed | None]:
        """The tasks' times, None for one that has none; none begins after `until` (time.monotonic)."""
        for task in self._tasks:
            if time.monotonic() > until:
                return
            yield self._timed(task)

    def _timed(self, task: Task) -> Timed | None:
        try:
            first, *others = task.blocks
            able = self._able(task)
            if first not in able:
                return None
            return timed(task.job, self._device, others=[blocks for blocks in others if blocks in able])
        except (Unsupported, MemoryError) as error:
            self._note(task, str(error))
            return None

    def _able(self, task: Task) -> set[Blocks]:
        """The blocks that run, and whose D is near that of the built-in blocks."""
        able = set()
        with memory(task.job.size):
            pair = Operands.normal(task.job, self._device).quantized()
            simple = built_in(task.plan.meaning, task.job.mnk, self._device)
            truth = gemm(*pair, replace(task.plan, blocks=simple))
            for blocks in task.blocks:
                fault = self._compiled[kernel_of(task.plan, blocks, task.job.mnk)].result()
                if not fault and not is_near(gemm(*pair, replace(task.plan, blocks=blocks)), truth):
                    fault = "D is far from that of the built-in blocks"
                if fault:
                    self._note(task, f"{blocks.title}: {fault}")
                else:
                    able.add(blocks)
        return able

    def _note(self, task: Task, fault: str) -> None:
        self.faults.append(f"{task.job.recipe} {task.job.matmul} {task.job.mnk}: {fault}")
