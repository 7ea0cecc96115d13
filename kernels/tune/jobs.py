"""The work of the tuner: the shapes, and each distinct GEMM on them."""

from collections.abc import Hashable, Iterator, Mapping
from itertools import product

from fp8core.linear import MATMULS, LayerShape
from fp8core.recipes import RECIPES
from kernels.bench.job import GemmJob
from kernels.bench.shapes import LAYER, SKINNY, STANDARD
from kernels.device import Device, Unsupported
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import GemmPlan, plan_built_in, plan_gemm
from kernels.gemm.shape_class import ShapeClass

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
