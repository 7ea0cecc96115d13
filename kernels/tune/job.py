"""One GEMM on this process's GPU, as the tuner needs it: blocks checked bit for bit, then timed in turns."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from kernels.bench.ceilings.limits import Impossible, limits_of
from kernels.bench.exactness.predict import check, predictable
from kernels.bench.job import GemmJob
from kernels.bench.operands import Operands, held_bytes
from kernels.bench.timing import ColdTurn, Contender, HotTurn, Turn, buffer_sets, flush_buffer, interleaved
from kernels.device import Device, DeviceKind, Unsupported, compiles_only, current_device
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.hopper.decoding.blocks import values_order
from kernels.gemm.launch import gemm, launch, torch_dtype
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.tune.jobs import simple_plan

REPEATS = 3
_SAMPLED = 16
_NEAR = 1 / 8
_WHOLE_K = (1, 0, 0, None)
"""Runs of K, the length of one, and the order along K."""


_Cut = tuple[int, int, int, Blocks | None]
_BYTE = 8
"""Bits of a code of one byte: those stay among the 16 that the tensor core adds at once."""


class TuneJob:
    """The operands of a job on the GPU, in enough copies to exceed twice the L2."""

    def __init__(self, job: GemmJob, device: Device) -> None:
        plan = simple_plan(job, device)
        if isinstance(plan, Unsupported):
            raise plan
        self.plan: GemmPlan = plan
        self._job, self._device, self._where = job, device, device.place
        drawn = Operands.of(job, device)
        self._operands = [drawn.quantized()]
        self._outs = [self._poisoned()]
        size = sum(map(held_bytes, self._operands[0])) + self._outs[0].nbytes
        for _ in range(buffer_sets(size, device.l2_bytes) - 1):
            self._operands.append(drawn.quantized())
            self._outs.append(self._poisoned())
        self._truths: dict[_Cut, torch.Tensor] = {}

    def fault(self, blocks: Blocks) -> str:
        """A sentence on what is wrong with D under these blocks; empty where every bit is right.

        The right D is the simple kernel's with the same runs of K; for another order along K it is the first
        one. Where this GPU has a model of its tensor core, the model must first have predicted a sample of
        that D. A split sum must also be near the whole one: a lost run would make it differ more somewhere.
        """
        a, b = self._operands[0]
        plan = replace(self.plan, blocks=blocks)
        first = gemm(a, b, plan, out=self._poisoned())
        if _WHOLE_K not in self._truths:
            wrong = self._trust(_WHOLE_K, self.plan, gemm(a, b, self.plan, out=self._poisoned()))
            if wrong:
                return wrong
        whole = self._truths[_WHOLE_K]
        if not (first - whole).abs().max() <= _NEAR * whole.float().square().mean().sqrt():
            return f"{blocks.title}: D is far from what it is with K in one run"
        runs, steps = blocks.runs(self._job.k)
        last = blocks if blocks.shares_last else None  # their order decides which blocks are whole
        cut = (runs, steps * blocks.block_k * (runs > 1), _order(plan), last)
        if cut not in self._truths:
            wrong = self._trust(cut, plan, first)
            if wrong:
                return wrong
        truth = self._truths[cut]
        for repeat in range(REPEATS):
            out = gemm(a, b, plan, out=self._poisoned()) if repeat else first
            differing = (bits(out) != bits(truth)).nonzero()
            if len(differing):
                m, n = differing[0].tolist()
                return f"{blocks.title}: D[{m}, {n}] is {out[m, n]:.9g}, and {truth[m, n]:.9g} is right"
        return ""

    def times_us(
        self, tries: Sequence[Blocks], rounds: int, turn_us: float, settle_us: float
    ) -> dict[Blocks, float]:
        """Median microseconds of a launch under each of these blocks.

        They take turns of about turn_us, timed settle_us after a turn began.
        """
        return self._timed(tries, rounds, lambda contender: HotTurn(contender, turn_us, settle_us))

    def cold_us(self, tries: Sequence[Blocks], rounds: int, settle_us: float) -> dict[Blocks, float]:
        """Median microseconds of a launch under each of these blocks, with the L2 flushed before it."""
        flush = flush_buffer(self._device.l2_bytes)
        return self._timed(tries, rounds, lambda contender: ColdTurn(contender, flush, settle_us))

    def _timed(
        self, tries: Sequence[Blocks], rounds: int, turn_of: Callable[[Contender], Turn]
    ) -> dict[Blocks, float]:
        turns = [turn_of(Contender(str(place), self._launches(blocks))) for place, blocks in enumerate(tries)]
        timings = interleaved(turns, rounds, lambda done: None)
        limits = limits_of(self._device)
        for timing in timings.by_name.values():
            fault = limits.fault(self._job.flop / timing.median_us / 1e6)
            if fault:
                raise Impossible(fault)
        return {blocks: timings.by_name[str(place)].median_us for place, blocks in enumerate(tries)}

    def _launches(self, blocks: Blocks) -> list:
        plan = replace(self.plan, blocks=blocks)
        pairs = zip(self._operands, self._outs, strict=True)
        return [lambda pair=pair, out=out: gemm(*pair, plan, out=out) for pair, out in pairs]

    def _poisoned(self) -> torch.Tensor:
        shape = (self._job.m, self._job.n)
        return torch.full(shape, torch.nan, dtype=torch_dtype(self.plan.meaning.spec.out), device=self._where)

    def _trust(self, cut: _Cut, plan: GemmPlan, out: torch.Tensor) -> str:
        """Accept D as the right one for runs of K of one length, unless the model reports a fault."""
        if predictable(plan, self._device.capability):
            difference = check(plan, *self._operands[0], out, self._job.seed, _SAMPLED).first_difference
            if difference:
                return f"{plan.blocks.title}: {difference}"
        self._truths[cut] = out
        return ""


def _order(plan: GemmPlan) -> int:
    """The order along K in which a plan's numbers are added, 0 where only that within 16 is another."""
    order = values_order(plan.meaning, plan.blocks) if plan.body is Body.DECODING else 0
    return 0 if order == _BYTE else order


def bits(x: torch.Tensor) -> torch.Tensor:
    """A result's bit patterns, so that NaN equals itself."""
    return x.view({2: torch.int16, 4: torch.int32}[x.element_size()])


def launch_once(job: GemmJob, blocks: Blocks | None) -> str:
    """Compile a job's quantizers and its GEMM, and run them once on zeros: Triton keeps the code on disk.

    The GEMM runs under these blocks, or under those of its plan. The result is a sentence on why the blocks
    cannot run; empty where they can.
    """
    from triton.errors import TritonError

    device = current_device()
    planned = plan_gemm(
        job.recipe_data.spec(job.matmul_data), (job.m, job.n, job.k), device, job.accumulation
    )
    if isinstance(planned, Unsupported):
        return planned.reason
    plan = replace(planned, blocks=blocks) if blocks is not None else planned
    layer = job.matmul_data.layer(job.m, job.n, job.k)
    shapes = (layer.of(job.matmul_data.a), layer.of(job.matmul_data.b))
    try:
        zeros = (torch.zeros(shape, dtype=torch.bfloat16, device=device.place) for shape in shapes)
        a, b = Operands(job, *zeros).quantized()
        out = torch.empty((job.m, job.n), dtype=torch_dtype(plan.meaning.spec.out), device=device.place)
        ran = launch(a, b, plan, out, False, device.kind)
        if device.kind is DeviceKind.GPU and not compiles_only():
            torch.cuda.synchronize()
    except (TritonError, RuntimeError, AssertionError) as error:
        first, *_ = str(error).splitlines() or [type(error).__name__]
        return f"{plan.blocks.title}: {first}"
    spilled = getattr(ran, "n_spills", 0) if blocks is not None else 0
    return f"{plan.blocks.title}: {spilled} registers do not fit" if spilled else ""
