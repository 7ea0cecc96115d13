"""Contract: blocks cut M, N and K without gaps and fit shared memory, each a plan of its variant."""

from itertools import product
from math import prod

import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import BLACKWELL, HOPPER
from kernels.gemm.blocks import MAX_SPLIT, Blocks, Variant
from kernels.gemm.choose import tries
from kernels.gemm.hopper.sizes import WARPGROUP_WARPS
from kernels.gemm.numerics import Numerics, ScaleAt, Summation, numerics_of
from kernels.gemm.plan import GemmPlan
from kernels.gemm.variants import VARIANTS

BLOCKS = {"block_m": 64, "block_n": 128, "block_k": 128, "warps": 4, "stages": 3}


@pytest.mark.parametrize("split_k", [1, 2, 3, 7, 16, MAX_SPLIT])
@pytest.mark.parametrize("k", [0, 1, 128, 129, 640, 4096, 14336])
def test_the_runs_of_k_cover_it_and_none_is_empty(split_k, k):
    blocks = Blocks(**BLOCKS, split_k=split_k)
    splits, steps = blocks.splits(k)
    needed = max(1, -(-k // blocks.block_k))
    assert 1 <= splits <= split_k
    assert (splits - 1) * steps < needed <= splits * steps
    assert (steps - 1) * split_k < needed, "shorter ones would be more than split_k"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"block_m": 96}, "block_m is a power of two, got 96"),
        ({"block_k": 0}, "block_k is a power of two, got 0"),
        ({"warps": 6}, "4 or 8 warps"),
        ({"stages": 0}, "got 4 warps, 0 stages"),
        ({"split_k": 0}, "split into 1 to 32 parts"),
        ({"split_k": MAX_SPLIT + 1}, "got 33"),
        ({"split_k": 2, "persistent": True}, "got 2 by persistent programs"),
        ({"decoded": "ba"}, "decoded names operands: .* got 'ba'"),
        ({"decoded": "a"}, "the left factor is not decoded alone: .* got 'a'$"),
        ({"decoded": "b", "transposed": True}, "the left factor is not decoded alone: .* 'b', transposed$"),
        (
            {"transposed": True, "variant": Variant.CHAINED},
            "chained variant is not transposed .* transposed$",
        ),
        ({"decoded": "b", "variant": Variant.PROMOTED}, "decodes neither A nor B, got 'b'"),
        (
            {"persistent": True, "variant": Variant.NATIVE_MX},
            "the scaled tensor core's kernel has TMA and one program",
        ),
        ({"decoded": "", "variant": Variant.DECODING}, "decodes A or B or both, got ''"),
    ],
    ids=str,
)
def test_blocks_that_no_kernel_has_are_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        Blocks(**BLOCKS | change)


SHAPES = ((64, 4096, 4096), (4096, 4096, 4096))
BY_VARIANT = pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.value)


def all_numerics(device) -> list[Numerics]:
    cases = product(RECIPES.values(), MATMULS.values(), Summation)
    every = (numerics_of(recipe.spec(matmul), device, how) for recipe, matmul, how in cases)
    return [one for one in every if isinstance(one, Numerics)]


def held_bytes(plan: GemmPlan) -> int:
    """Bytes of the boxes that a plan's storage keeps: stages of A, B and scales along K, and pieces of D."""
    storage, spec = plan.storage, plan.numerics.spec
    codes = [plan.variant is Variant.DECODING and side in plan.blocks.decoded for side in "ab"]
    sizes = [
        1 if code else format_.bytes for code, format_ in zip(codes, plan.numerics.multiplied, strict=True)
    ]
    stage = sum(prod(box) * size for box, size in zip((storage.a_box, storage.b_box), sizes, strict=True))
    if plan.numerics.scale_at is ScaleAt.K_LOOP:
        stage += 4 * (storage.a_scales + storage.b_scales)
    warpgroups = plan.blocks.warps // WARPGROUP_WARPS
    pieces = warpgroups * storage.buffers * prod(storage.out_box or (0,)) * spec.out.bytes
    return storage.stages * stage + pieces


@BY_VARIANT
def test_its_blocks_are_plans_of_that_body(variant):
    device = BLACKWELL if variant is Variant.NATIVE_MX else HOPPER
    count = 0
    for numerics, mnk in product(all_numerics(device), SHAPES):
        for blocks in tries(variant, numerics, mnk, device):
            plan = GemmPlan(numerics=numerics, blocks=blocks, sms=device.sms)
            assert plan.variant is variant
            assert (plan.storage is None) == (VARIANTS[variant].storage is None) == variant.is_simple
            if plan.storage:
                assert plan.storage.stages == blocks.stages
                assert held_bytes(plan) <= plan.storage.bytes <= device.shared_memory_bytes
            count += 1
    assert count, "a variant that nothing asks for is no variant"


@BY_VARIANT
def test_a_plan_that_its_body_refuses_cannot_be_made(variant):
    device = BLACKWELL if variant is Variant.NATIVE_MX else HOPPER
    mnk = SHAPES[0]
    able = {one: next(tries(variant, one, mnk, device), None) for one in all_numerics(device)}
    blocks = next(iter(filter(None, able.values())), None) or next(
        blocks for one in able for blocks in tries(variant, one, SHAPES[1], device)
    )
    refused = [one for one in able if VARIANTS[variant].refusal(one)]
    for numerics in refused:
        with pytest.raises(ValueError, match=r"got .*schedule, block"):
            GemmPlan(numerics=numerics, blocks=blocks, sms=device.sms)
    assert refused or variant is Variant.SIMPLE
