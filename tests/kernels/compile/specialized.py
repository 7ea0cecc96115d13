"""Cases of the warp-specialized kernels, for tests.kernels.compile.cases."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from fp8core.formats import FORMATS
from kernels.device import Device
from kernels.gemm.blocks import Blocks, Variant
from kernels.gemm.hopper.storage import own_splits, takes_pairs
from kernels.gemm.plan import GemmPlan
from kernels.gemm.tuned import read_table, table_path
from kernels.measure.tune import coarse
from tests.kernels.compile.cases import GROUP, LARGE, SPLIT, Families, multiplied, simple_plans
from tests.kernels.compile.heard import Case

TALL = (8192, 4096, 4096)
FEW = tuple((tokens, 4096, 14336) for tokens in (64, 128, 256))


def specialized_gemms(device: Device, families: Families) -> Iterator[Case]:
    """The specialized kernels for everything that they take, and in the blocks of the device's table. The
    order of blocks is a divisor in the code and no more, and so is the number of stages: the most stand for
    all. A format is a few instructions: one case of a variant has e5m2.
    """
    most: dict[tuple[object, ...], Case] = {}
    for case in named_specialized(device, families):
        key = code_of(case)
        if key not in most or stages(case) > stages(most[key]):
            most[key] = case
    yield from most.values()


def stages(case: Case) -> int:
    return dict(case.constants).get("STAGES", case.stages)


def code_of(case: Case) -> tuple[object, ...]:
    """Equal for specialized kernels that differ in the number of stages, or in name, and no more."""
    constants = tuple((name, fact) for name, fact in case.constants if name != "STAGES")
    return case.kernel, case.types, constants


def named_specialized(device: Device, families: Families = "all") -> Iterator[Case]:
    """The specialized kernels of each family, which may be those of another family."""
    table = [row for row in read_table(table_path(device.capability)) if not row.blocks.variant.is_simple]
    for family, plan in simple_plans(device, families):
        tries = [blocks for mnk in (LARGE, TALL) for blocks in coarse(plan, mnk, device)]
        tries = [blocks for blocks in tries if not blocks.variant.is_simple]
        of_each = {(blocks.decoded, blocks.block_n, blocks.warps): blocks for blocks in reversed(tries)}
        few = [blocks for mnk in FEW for blocks in coarse(plan, mnk, device)]
        few = [blocks for blocks in few if in_programs(blocks)]
        tabled = [row.blocks for row in table if row.family == family]
        for blocks in dict.fromkeys((*of_each.values(), *map(_as_compiled, few), *tabled)):
            made = replace(plan, blocks=blocks)
            runs = (SPLIT, SPLIT + 1) if in_programs(blocks) else (blocks.split_k,)
            adds = (False, True)[: 1 + (plan.numerics.spec.out.bits == 32)]
            for count, accumulate in product(runs, adds):
                shared = replace(made, blocks=in_runs(blocks, count))
                yield from multiplied(family, shared, device, accumulate=accumulate)
                if made.variant is Variant.CHAINED and plan.numerics.spec.a is None:
                    yield from multiplied(family, made, device, accumulate=accumulate, mn_major=True)
            if made.variant is Variant.DECODING and blocks not in tabled and not in_programs(blocks):
                yield from multiplied(family, in_e5m2(made), device)


def _as_compiled(blocks: Blocks) -> Blocks:
    """Blocks that stand for all others whose code is theirs: the same order, the same number of programs."""
    blocks = replace(blocks, group=GROUP)
    return in_runs(blocks, SPLIT) if in_programs(blocks) else blocks


def in_runs(blocks: Blocks, runs: int) -> Blocks:
    """Blocks with so many splits of K; two of them in a program need an even ring."""
    split = replace(blocks, split_k=runs)
    pairs = split.variant is Variant.DECODING and takes_pairs(split)
    return replace(split, stages=split.stages - split.stages % 2) if pairs else split


def in_programs(blocks: Blocks) -> bool:
    """Whether programs of a specialized kernel share a block: they add runs two and two, so that an even and
    an odd number of them stand for all others.
    """
    each = own_splits(blocks, blocks.split_k * blocks.block_k) if blocks.decoded else 1
    return not blocks.variant.is_simple and blocks.split_k > each


def in_e5m2(plan: GemmPlan) -> GemmPlan:
    """The plan for codes of that format in place of e4m3's."""
    spec, e5m2 = plan.numerics.spec, FORMATS["e5m2"]
    others = {
        side: replace(own, format=e5m2)
        for side, own in (("a", spec.a), ("b", spec.b))
        if own is not None and own.format == FORMATS["e4m3"]
    }
    return replace(plan, numerics=replace(plan.numerics, spec=replace(spec, **others)))
