"""Contract: every ring that the planner can choose is sound, whatever takes how long: no wait ends too early,
no stage is overwritten too soon, nobody waits for ever.
"""

from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from random import Random

import pytest

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import HOPPER, Unsupported
from kernels.gemm.blocks import Variant
from kernels.gemm.choose import tries
from kernels.gemm.hopper import launch
from kernels.gemm.hopper.decoding import launch as decoding_launch
from kernels.gemm.hopper.sizes import MOST_ROWS_SPLIT
from kernels.gemm.hopper.storage import decoding, own_splits, value_rows
from kernels.gemm.numerics import Numerics, Summation, numerics_of
from kernels.gemm.plan import GemmPlan
from kernels.gemm.tuned import table
from tests.kernels.gemm.hopper.ring_faults import faults
from tests.kernels.gemm.hopper.ring_trace import traced

Mnk = tuple[int, int, int]

_dice = Random(40)
SHAPES: list[Mnk] = [
    (1, 128, 2048),
    (50, 5136, 12288),
    (17, 4096, 128),
    (129, 72, 1000),
    (700, 4096, 4096),
    (2100, 2056, 7168),
    (8192, 8192, 256),
    *((_dice.randint(1, 130), 8 * _dice.randint(1, 1500), 8 * _dice.randint(1, 1500)) for _ in range(2)),
    *((_dice.randint(1, 5000), 8 * _dice.randint(1, 900), 8 * _dice.randint(1, 900)) for _ in range(1)),
]
SPECIALIZED = tuple(variant for variant in Variant if not variant.is_simple)


def all_numerics() -> list[Numerics]:
    """What the kernels can tell apart of all recipes."""
    cases = product(RECIPES.values(), MATMULS.values(), Summation)
    every = [numerics_of(recipe.spec(matmul), HOPPER, how) for recipe, matmul, how in cases]
    return list({each.kernel_key: each for each in every if not isinstance(each, Unsupported)}.values())


NUMERICS = all_numerics()


def ring_of(plan: GemmPlan, k: int) -> Hashable:
    """Equal for plans whose roles wait, arrive and load alike, but for their numbers of blocks and steps."""
    blocks, variant = plan.blocks, plan.variant
    common = variant, blocks.stages, blocks.persistent, plan.numerics.scales_at_end
    if variant is Variant.DECODING:
        constants = decoding_launch.constants(plan, k, accumulate=False)
        rows = value_rows(blocks)
        shares = constants["SPLITS"] > constants["OWN_SPLITS"]
        wide = bool(constants["WIDEN"]), rows > MOST_ROWS_SPLIT, plan.storage.buffers
        return common, constants["OWN_SPLITS"], shares, wide
    constants = launch.constants(plan, k, accumulate=False)
    scales = constants["A_SCALES"] > 0, constants["B_SCALES"] > 0, constants["IN_LOOP"]
    out = plan.numerics.spec.out.name, plan.storage.buffers
    return common, blocks.block_m, blocks.block_n, constants["SPLITS"] > 1, scales, out


def planned() -> Iterator[tuple[GemmPlan, int]]:
    """Every plan of the shapes, and of the shipped table, with its K."""
    for mnk, numerics, variant in product(SHAPES, NUMERICS, SPECIALIZED):
        for blocks in tries(variant, numerics, mnk, HOPPER):
            yield GemmPlan(numerics=numerics, blocks=blocks, sms=HOPPER.sms), mnk[2]
    families = {str(each.family): each for each in NUMERICS}
    for family, rows in table((9, 0)).items():
        for row in rows:
            if row.blocks.variant in SPECIALIZED:
                yield GemmPlan(numerics=families[family], blocks=row.blocks, sms=HOPPER.sms), row.mnk[2]


def programs(plan: GemmPlan, k: int) -> Iterator[tuple[GemmPlan, Mnk, dict[str, int | None]]]:
    """Programs of a plan's ring to trace: on a GPU of few SMs, with few blocks and steps. The ring wraps
    twice, within a block and over several.
    """
    blocks, ring, each = plan.blocks, ring_of(plan, k), 1
    if plan.variant is Variant.DECODING:
        each = own_splits(blocks, k)
    fills = 2 * blocks.stages + 1

    def sized(sms: int, count: int, steps: int) -> tuple[GemmPlan, Mnk]:
        one_group = replace(blocks, group=1 << 20)  # a block after the last one has a place, too
        return replace(plan, sms=sms, blocks=one_group), (
            blocks.block_m,
            count * blocks.block_n,
            steps * blocks.block_k,
        )

    if blocks.split_k > 1:
        lengths = (*(blocks.split_k * -(-some // each) - less for some in (2, fills) for less in range(4)), 1)
        steps = [each for each in lengths if each > 0 and ring_of(plan, each * blocks.block_k) == ring]
        steps = steps or [-(-k // blocks.block_k)]  # fewer runs than programs were meant to share
        yield *sized(blocks.split_k, 1, steps[0]), {"last": 0}
        yield *sized(blocks.split_k, 1, steps[-1]), {"last": None}
        yield *sized(blocks.split_k, 1, steps[0] - (steps[0] - 1 in steps)), {"last": each - 1, "program": -1}
        for last in (0, None) if blocks.persistent else ():  # one program takes all splits
            yield *sized(1, 1, steps[0]), {"last": last}
    else:
        least = 2 if plan.storage.buffers == 0 and plan.variant is Variant.PROMOTED_REUSE else 1
        yield *sized(2, 1, least), {}
        if blocks.persistent:
            yield *sized(2, 5, -(-fills // 3)), {}
            yield *sized(1, -(-blocks.stages // least) + 1, least), {}
        else:
            yield *sized(2, 1, fills), {}
            yield *sized(2, 1, fills + 1), {}


@cache
def plans_by_variant() -> dict[Variant, list[tuple[GemmPlan, int, bool]]]:
    """A plan, a K, and whether D is added into, for each ring that the planner can choose; by its variant."""
    rings: dict[Variant, dict[Hashable, tuple[GemmPlan, int, bool]]] = {
        variant: {} for variant in SPECIALIZED
    }
    for plan, k in planned():
        for accumulate in (False, True) if plan.numerics.spec.out == FORMATS["fp32"] else (False,):
            rings[plan.variant].setdefault((ring_of(plan, k), accumulate), (plan, k, accumulate))
    return {variant: [*plans.values()] for variant, plans in rings.items()}


def unsound(plan: GemmPlan, k: int, **how: object) -> list[str]:
    """The faults of a plan's ring, the first of each program."""
    messages = []
    for program, mnk, which in programs(plan, k):
        reasons = faults(traced(program, mnk, **which, **how))
        messages += [
            f"{plan.variant.value}, {plan.blocks.title}, {mnk}, {which}: {each}" for each in reasons[:1]
        ]
    return messages


@pytest.mark.parametrize("variant", SPECIALIZED, ids=lambda variant: variant.value)
def test_every_ring_that_the_planner_can_choose_is_sound(variant):
    rings = plans_by_variant()[variant]
    assert rings
    messages = [fault for plan, k, adds in rings for fault in unsound(plan, k, accumulate=adds)]
    assert not messages, "\n".join(messages)


def pairs() -> list[GemmPlan]:
    """Plans whose programs take two splits of K."""
    return [plan for plan, k, _ in plans_by_variant()[Variant.DECODING] if own_splits(plan.blocks, k) == 2]


@pytest.mark.parametrize("stages", [2, 3, 6, 7])
def test_two_runs_of_k_need_an_even_ring(stages):
    """But where a warpgroup decodes the other operand: it sees every phase, and `ready` tells of it."""
    for plan in pairs():
        blocks = replace(plan.blocks, stages=stages)
        mnk = (blocks.block_m, blocks.block_n, blocks.split_k * (stages + 1) * blocks.block_k)
        reasons = faults(traced(plan, mnk, STAGES=stages))
        odd = stages % 2 == 1
        assert bool(reasons) == (odd and blocks.decoded != "ab"), (plan.title, reasons)
        assert all("may take phase" in fault for fault in reasons[:1]), reasons
        if not odd:
            assert decoding(plan.numerics, blocks).stages == stages
            continue
        with pytest.raises(
            ValueError, match=f"two splits of K need an even number of stages, got {stages}: "
        ):
            decoding(plan.numerics, blocks)
        with pytest.raises(AssertionError, match="refuses to be compiled"):
            traced(plan, mnk, asserts=True, STAGES=stages)
