"""What the tuner tries: for each schedule, blocks that a plan and a shape could do with. Pure; no torch.

A schedule's list is coarse; the fastest few of it are then varied. A new schedule is one entry in COARSE.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import product

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, LayerShape
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE
from kernels import decoding_blocks, narrow_blocks, specialized_blocks
from kernels.blocks import MAX_SPLIT, Blocks, Schedule
from kernels.device import Device, Unsupported
from kernels.family import Kernel
from kernels.plan import FEW, GemmPlan, plan_built_in, plan_gemm
from kernels.rows import Accumulation, GemmJob
from kernels.shape_class import ShapeClass
from kernels.shapes import LAYER, SKINNY, STANDARD
from kernels.tuned import table

SHAPES: Mapping[str, LayerShape | tuple[int, int, int]] = {
    **{f"{layer.tokens}-tokens": layer for layer in (*SKINNY, LAYER)},
    **{f"{side}-cubed": (side, side, side) for side in (1024, 2048, 4096, 8192)},
    **{"-".join(map(str, mnk)): mnk for mnk in STANDARD if isinstance(mnk, tuple) and len(set(mnk)) > 1},
}
"""Shapes by the names that the command line takes: one layer at several numbers of tokens, and (M, N, K)."""

_THREADS_A_WARP = 32
_ROWS_A_WARP = 16
_ACCUMULATORS = 128
_PROMOTED_ACCUMULATORS = 64
_VERY_FEW = 32
"""M up to kernels.plan.FEW also has blocks with all of it in their narrow side; up to this, no others."""
_LEAST_ROWS, _LOW = 16, 64
_NARROW_SIDES_N = (64, 128)
_SIDES_N = (32, 64, 128, 256)
_STAGES, _FEW_STAGES = 6, 3
_MAX_STAGES = 8
_LEAST_STEPS = 4
_WAVES = 4


def jobs(device: Device, shapes: Mapping[str, LayerShape | tuple[int, int, int]]) -> dict[str, GemmJob]:
    """One GEMM to tune for each family and shape class, by the text of both; neighbors share inputs."""
    found: dict[str, GemmJob] = {}
    for job in _every_job(shapes):
        plan = simple_plan(job, device)
        if isinstance(plan, GemmPlan):
            shape = ShapeClass.of((job.m, job.n, job.k), device.sms)
            found.setdefault(f"{plan.family} | {shape}", job)
    return found


def distinct_jobs(
    device: Device, shapes: Mapping[str, LayerShape | tuple[int, int, int]]
) -> dict[str, GemmJob]:
    """One GEMM for each kernel that the app compiles for these shapes, by its title."""
    found: dict[tuple[GemmPlan, int], GemmJob] = {}
    for job in _every_job(shapes):
        spec = job.recipe_data.spec(job.matmul_data)
        plan = plan_gemm(spec, (job.m, job.n, job.k), device, job.accumulation)
        if isinstance(plan, GemmPlan):
            found.setdefault((plan, plan.blocks.runs(job.k)[0]), job)
    return {f"{job.title}, {job.accumulation.value}": job for job in found.values()}


def _every_job(shapes: Mapping[str, LayerShape | tuple[int, int, int]]) -> Iterator[GemmJob]:
    for shape in shapes.values():
        for matmul, recipe, how in product(MATMULS, RECIPES, Accumulation):
            m, n, k = MATMULS[matmul].mnk(shape) if isinstance(shape, LayerShape) else shape
            yield GemmJob(recipe=recipe, matmul=matmul, m=m, n=n, k=k, accumulation=how)


def simple_plan(job: GemmJob, device: Device) -> GemmPlan | Unsupported:
    """The simple kernel's built-in plan of a job: what candidates vary, and are checked against."""
    return plan_built_in(
        job.recipe_data.spec(job.matmul_data), (job.m, job.n, job.k), device, job.accumulation
    )


def coarse(plan: GemmPlan, mnk: tuple[int, int, int], device: Device) -> list[Blocks]:
    """First tries for a plan's meaning, of every schedule that the device has."""
    found = (blocks for tries in COARSE.values() for blocks in tries(plan, mnk, device))
    return list(dict.fromkeys(found))


def again(
    plan: GemmPlan, mnk: tuple[int, int, int], device: Device, schedule: Schedule | None
) -> list[Blocks]:
    """First tries where one schedule is searched anew: its own, beside what the table has of the others. All
    of every schedule for None.
    """
    found = coarse(plan, mnk, device)
    if schedule is None:
        return found
    shape = ShapeClass.of(mnk, device.sms)
    tabled = table(device.capability or (0, 0)).get(str(plan.family), ())
    others = (row.blocks for row in tabled if row.shape == shape and row.blocks.schedule is not schedule)
    return [blocks for blocks in found if blocks.schedule is schedule] + list(others)


def finer(plan: GemmPlan, mnk: tuple[int, int, int], device: Device, best: Blocks) -> list[Blocks]:
    """One step away from blocks that did well: the order of blocks, stages, and the neighboring splits."""
    if best.schedule is Schedule.SPECIALIZED:  # its coarse list is all there is
        return []
    tries = [replace(best, group=group) for group in (4, 16, 32)] if mnk[0] > 4 * best.block_m else []
    tries += [replace(best, stages=stages) for stages in (best.stages - 1, best.stages + 1) if stages > 1]
    splits = {best.split_k * 3 // 2, best.split_k * 3 // 4} if best.split_k > 1 else set()
    tries += [replace(best, split_k=split) for split in sorted(splits) if 1 < split <= MAX_SPLIT]
    fitting = (_fit(plan, blocks, device) for blocks in tries)
    return [blocks for blocks in dict.fromkeys(fitting) if blocks is not None and blocks != best]


def _simple(plan: GemmPlan, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    if plan.kernel is Kernel.NATIVE_MX:
        yield plan.blocks
        return
    if mnk[0] <= FEW:
        yield from _few_tokens(plan, mnk, device)
        if mnk[0] <= (FEW // 2 if plan.kernel is Kernel.DEQUANTIZED else _VERY_FEW):
            return
    sides_m, few = (64,) if mnk[0] <= 64 else (64, 128), mnk[0] <= FEW
    sides = product(sides_m, _NARROW_SIDES_N if few else _SIDES_N, _steps_k(plan), (4, 8))
    for block_m, block_n, block_k, warps in sides:
        held = block_m * block_n // (_THREADS_A_WARP * warps)
        if held > _held_at_most(plan) or block_m < _ROWS_A_WARP * warps:
            continue
        group = 32 if plan.promotion is not WHOLE else 8
        blocks = Blocks(
            block_m=block_m,
            block_n=block_n,
            block_k=block_k,
            group=group,
            warps=warps,
            stages=_STAGES,
            tma=plan.blocks.tma,
        )
        count = blocks.count(*mnk[:2])
        if block_n < 128 and count > _WAVES * device.sms:
            continue
        variants = [replace(blocks, split_k=split) for split in _splits(count, blocks, mnk[2], device)]
        if count > device.sms:  # then an SM may hold several programs, if none takes all of its memory
            variants += [replace(blocks, stages=_FEW_STAGES)]
            variants += [replace(blocks, persistent=True)] if not few else []
        if held == _ACCUMULATORS and plan.spec.out.bits > FORMATS["bf16"].bits:  # the others spill
            variants = [one for one in variants if one.split_k == 1 and not one.persistent]
        yield from (fit for fit in (_fit(plan, one, device) for one in variants) if fit is not None)


def _few_tokens(plan: GemmPlan, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    """All of M, or half of it, in the narrow side of the tensor core's blocks; and what a dequantizing plan
    can decode in the K loop, where its pass would take most of the time.
    """
    rows = _LEAST_ROWS
    while rows < mnk[0]:
        rows *= 2
    halves = sorted({rows, max(rows // 2, min(rows, _LOW))})
    if plan.kernel is Kernel.DEQUANTIZED:
        sides = [*product(halves, _NARROW_SIDES_N, (4, 8), [(True, "ab")])]
        sides += [
            *product(sorted({max(half, _LOW) for half in halves}), _NARROW_SIDES_N, (4, 8), [(False, "b")])
        ]
    else:
        sides = [*product(halves, _NARROW_SIDES_N, (4, 8), [(True, "")])]
    for block_m, block_n, warps, (transposed, decoded) in sides:
        held = block_m * block_n // (_THREADS_A_WARP * warps)
        if held > _held_at_most(plan) or (block_n if transposed else block_m) < _ROWS_A_WARP * warps:
            continue
        if not decoded and 2 * held <= _held_at_most(plan) and warps > 4:  # 4 warps can hold it
            continue
        blocks = Blocks(
            block_m=block_m,
            block_n=block_n,
            block_k=2 * plan.block_k if decoded else plan.block_k,
            warps=warps,
            stages=_STAGES,
            tma=plan.blocks.tma,
            transposed=transposed,
            decoded=decoded,
        )
        variants = [
            replace(blocks, split_k=split, stages=stages)
            for split in _splits(blocks.count(*mnk[:2]), blocks, mnk[2], device)
            for stages in ((_STAGES, _FEW_STAGES) if rows >= _LOW or decoded else (_STAGES,))
        ]
        if not decoded and plan.promotion is WHOLE:
            variants.append(replace(blocks, block_k=2 * plan.block_k, stages=_FEW_STAGES))
        yield from (fit for fit in (_fit(plan, one, device) for one in variants) if fit is not None)


def _specialized(plan: GemmPlan, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    meaning = (plan.spec, plan.kernel, plan.scale_at, plan.promotion)
    if specialized_blocks.lacks_specialized(device) or specialized_blocks.lacking(*meaning, mnk):
        return
    if plan.kernel is Kernel.DEQUANTIZED and not decoding_blocks.lacking(plan.spec):
        yield from decoding_blocks.candidates(plan.spec, mnk, device)
    yield from narrow_blocks.candidates(*meaning, mnk, device)
    if mnk[0] >= FEW // 2 or plan.promotion is not WHOLE:  # the other blocks of one sum are 128 rows high
        yield from specialized_blocks.candidates(*meaning, mnk, device)


COARSE: dict[Schedule, Callable[[GemmPlan, tuple[int, int, int], Device], Iterator[Blocks]]] = {
    Schedule.SIMPLE: _simple,
    Schedule.SPECIALIZED: _specialized,
}


def _steps_k(plan: GemmPlan) -> tuple[int, ...]:
    """BLOCK_K: a promotion sets it; a sum that stays in the tensor core is the same for any."""
    if plan.promotion is not WHOLE:
        return (plan.block_k,)
    return (plan.block_k, 2 * plan.block_k)


def _held_at_most(plan: GemmPlan) -> int:
    """Elements of D that a thread can hold; a promoted sum is held twice."""
    return _ACCUMULATORS if plan.promotion is WHOLE else _PROMOTED_ACCUMULATORS


def _splits(count: int, blocks: Blocks, k: int, device: Device) -> list[int]:
    """1, and 2, 4 … runs of K while SMs stand idle or a few waves are not full, each of a few steps."""
    splits = [1]
    steps = -(-k // blocks.block_k)
    while (
        2 * splits[-1] <= MAX_SPLIT
        and count * splits[-1] < 2 * device.sms
        and steps >= 2 * splits[-1] * _LEAST_STEPS
    ):
        splits.append(2 * splits[-1])
    return splits


def _fit(plan: GemmPlan, blocks: Blocks, device: Device) -> Blocks | None:
    element = FORMATS["bf16"] if plan.kernel is Kernel.DEQUANTIZED else plan.spec.a.format
    if blocks.stages > _MAX_STAGES:
        return None
    return blocks.within(device.shared_memory_bytes, element.bytes, plan.spec.out.bytes)
