"""One GEMM on this process's GPU, as the tuner needs it: blocks checked bit for bit, then timed in turns."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import torch

from fp8core.linear import MATMULS, LayerShape
from fp8core.recipes import RECIPES
from kernels.device import Device, DeviceKind, Unsupported, compiles_only, current_device
from kernels.gemm.blocks import Blocks, Variant
from kernels.gemm.hopper.decoding.blocks import values_order
from kernels.gemm.launch import gemm, launch, torch_dtype
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import GemmPlan, plan_built_in, plan_gemm
from kernels.gemm.shape_class import ShapeClass
from kernels.measure.contest import Buffers, timed, turns_of
from kernels.measure.exactness import bits, check, is_near, predictable
from kernels.measure.jobs import LAYER, SKINNY, STANDARD, GemmJob
from kernels.measure.operands import Operands
from kernels.measure.peak_rates import Impossible, limits_of

SHAPES: Mapping[str, LayerShape | tuple[int, int, int]] = {
    **{f"{layer.tokens}-tokens": layer for layer in (*SKINNY, LAYER)},
    **{f"{side}-cubed": (side, side, side) for side in (1024, 2048, 4096, 8192)},
    **{"-".join(map(str, mnk)): mnk for mnk in STANDARD if isinstance(mnk, tuple) and len(set(mnk)) > 1},
}
"""Shapes by the names that the command line takes: one layer at several numbers of tokens, and (M, N, K)."""


def jobs(device: Device, shapes: Mapping[str, LayerShape | tuple[int, int, int]]) -> dict[str, GemmJob]:
    """One GEMM to tune for each family and shape class, by the text of both; neighbors share inputs."""
    found: dict[str, GemmJob] = {}
    for job in _every_job(shapes):
        plan = simple_plan(job, device)
        if isinstance(plan, GemmPlan):
            shape = ShapeClass.of((job.m, job.n, job.k), device.sms)
            found.setdefault(f"{plan.meaning.family} | {shape}", job)
    return found


def distinct_jobs(
    device: Device, shapes: Mapping[str, LayerShape | tuple[int, int, int]]
) -> dict[str, GemmJob]:
    """One GEMM for each kernel that the app compiles for these shapes, by its title."""
    found: dict[Hashable, GemmJob] = {}
    for job in _every_job(shapes):
        spec = job.recipe_data.spec(job.matmul_data)
        plan = plan_gemm(spec, (job.m, job.n, job.k), device, job.accumulation)
        if isinstance(plan, GemmPlan):
            found.setdefault((plan.meaning.seen, plan.blocks, plan.blocks.runs(job.k)[0]), job)
    return {f"{job.title}, {job.accumulation.value}": job for job in found.values()}


def _every_job(shapes: Mapping[str, LayerShape | tuple[int, int, int]]) -> Iterator[GemmJob]:
    for shape in shapes.values():
        for matmul, recipe, how in product(MATMULS, RECIPES, Summation):
            m, n, k = MATMULS[matmul].mnk(shape) if isinstance(shape, LayerShape) else shape
            yield GemmJob(recipe=recipe, matmul=matmul, m=m, n=n, k=k, accumulation=how)


def simple_plan(job: GemmJob, device: Device) -> GemmPlan | Unsupported:
    """The simple kernel's built-in plan of a job. Candidates vary it and are checked against it."""
    return plan_built_in(
        job.recipe_data.spec(job.matmul_data), (job.m, job.n, job.k), device, job.accumulation
    )


REPEATS = 3
_SAMPLED = 16
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
        self._job, self._device = job, device
        self._buffers = Buffers.of(job, plan, Operands.of(job, device), device)
        self._truths: dict[_Cut, torch.Tensor] = {}

    def fault(self, blocks: Blocks) -> str:
        """A sentence on what is wrong with D under these blocks; empty where every bit is right.

        The right D is the simple kernel's with the same runs of K; for another order along K it is the first
        one. Where this GPU has a model of its tensor core, the model must first have predicted a sample of
        that D. A split sum must also be near the whole one: a lost run would make it differ more somewhere.
        """
        a, b = self._buffers.pairs[0]
        plan = replace(self.plan, blocks=blocks)
        first = gemm(a, b, plan, out=self._poisoned())
        if _WHOLE_K not in self._truths:
            wrong = self._trust(_WHOLE_K, self.plan, gemm(a, b, self.plan, out=self._poisoned()))
            if wrong:
                return wrong
        whole = self._truths[_WHOLE_K]
        if not is_near(first, whole):
            return f"{blocks.title}: D is far from what it is with K in one run"
        runs, steps = blocks.runs(self._job.k)
        cut = (runs, steps * blocks.block_k * (runs > 1), _order(plan))
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

    def times_us(self, tries: Sequence[Blocks], **how: Any) -> dict[Blocks, float]:
        """Median microseconds of a launch under each of these blocks, which take turns.

        `how` has fields of the job: its runs, turn_ms, settle_ms, and the cache. Raises Impossible.
        """
        job = replace(self._job, **how)
        ours = [
            self._buffers.ours(replace(self.plan, blocks=blocks), str(place))
            for place, blocks in enumerate(tries)
        ]
        by_name = timed([ours], turns_of(job, self._device), job.runs)
        limits = limits_of(self._device)
        for timing in by_name.values():
            fault = limits.fault(job.flop / timing.median_us / 1e6)
            if fault:
                raise Impossible(fault)
        return {blocks: by_name[str(place)].median_us for place, blocks in enumerate(tries)}

    def _poisoned(self) -> torch.Tensor:
        return torch.full_like(self._buffers.outs[0], torch.nan)

    def _trust(self, cut: _Cut, plan: GemmPlan, out: torch.Tensor) -> str:
        """Accept D as the right one for runs of K of one length, unless the model reports a fault."""
        if predictable(plan, self._device.capability):
            difference = check(plan, *self._buffers.pairs[0], out, self._job.seed, _SAMPLED).first_difference
            if difference:
                return f"{plan.blocks.title}: {difference}"
        self._truths[cut] = out
        return ""


def _order(plan: GemmPlan) -> int:
    """The order along K in which a plan's numbers are added, 0 where only that within 16 is another."""
    order = values_order(plan.meaning, plan.blocks) if plan.variant is Variant.DECODING else 0
    return 0 if order == _BYTE else order


def launch_once(job: GemmJob, blocks: Blocks | None, may_spill: bool = False) -> str:
    """Compile a job's quantizers and its GEMM, and run them once on zeros: Triton keeps the code on disk.

    The GEMM runs under these blocks, or under those of its plan. The result is a sentence on why the blocks
    cannot run, or, unless they may, that they spill registers; empty where they run.
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
    spilled = 0 if blocks is None or may_spill else getattr(ran, "n_spills", 0)
    return f"{plan.blocks.title}: {spilled} registers do not fit" if spilled else ""
