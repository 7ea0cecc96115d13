"""Contract: blocks cut M, N and K without gaps and fit shared memory, each a plan of its body."""

from dataclasses import replace
from itertools import product
from math import prod

import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import ADA, BLACKWELL, BLACKWELL_RTX, HOPPER
from kernels.gemm.blocks import MAX_SPLIT, Blocks, Body
from kernels.gemm.bodies import BODIES, tries
from kernels.gemm.hopper.sizes import NARROW_STEPS, WARPGROUP_WARPS
from kernels.gemm.meaning import Meaning, ScaleAt, Summation, meaning_of
from kernels.gemm.plan import GemmPlan
from kernels.gemm.simple.blocks import built_in
from kernels.typed import from_data, to_data

BLOCKS = {"block_m": 64, "block_n": 128, "block_k": 128, "warps": 4, "stages": 3}


@pytest.mark.parametrize("split_k", [1, 2, 3, 7, 16, MAX_SPLIT])
@pytest.mark.parametrize("k", [0, 1, 128, 129, 640, 4096, 14336])
def test_the_runs_of_k_cover_it_and_none_is_empty(split_k, k):
    blocks = Blocks(**BLOCKS, split_k=split_k)
    runs, steps = blocks.runs(k)
    needed = max(1, -(-k // blocks.block_k))
    assert 1 <= runs <= split_k
    assert (runs - 1) * steps < needed <= runs * steps


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"block_m": 96}, "block_m is a power of two, got 96"),
        ({"block_k": 0}, "block_k is a power of two, got 0"),
        ({"warps": 6}, "4 or 8 warps"),
        ({"stages": 0}, "got 4 warps, 0 stages"),
        ({"split_k": 0}, "split into 1 to 32 runs"),
        ({"split_k": MAX_SPLIT + 1}, "got 33"),
        ({"split_k": 2, "persistent": True}, "got 2 by persistent programs"),
        ({"decoded": "ba"}, "decoded names operands: .* got 'ba'"),
        ({"decoded": "a"}, "the left factor is not decoded alone: .* got 'a'$"),
        ({"decoded": "b", "transposed": True}, "the left factor is not decoded alone: .* 'b', transposed$"),
        (
            {"transposed": True, "body": Body.CHAINED},
            "chained body is not transposed .* transposed$",
        ),
        ({"decoded": "b", "body": Body.PROMOTED}, "decodes neither A nor B, got 'b'"),
        (
            {"persistent": True, "body": Body.NATIVE_MX},
            "the scaled tensor core's kernel has TMA and one program",
        ),
        ({"decoded": "", "body": Body.DECODING}, "decodes A or B or both, got ''"),
    ],
    ids=str,
)
def test_blocks_that_no_kernel_has_are_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        Blocks(**BLOCKS | change)


def test_stages_shrink_to_what_fits():
    blocks = Blocks(**BLOCKS)
    assert blocks.within(227 << 10, 1, 2) == blocks
    assert blocks.within(60 << 10, 1, 2).stages == 2
    assert blocks.within(40 << 10, 1, 2) is None
    kept = Blocks(block_m=128, block_n=256, block_k=128, warps=8, stages=3, persistent=True)
    assert kept.within(227 << 10, 1, 2) == kept
    assert kept.within(227 << 10, 1, 4).stages == 2, "an fp32 D leaves as the next block's operands come"
    assert kept.within(99 << 10, 1, 4) is None


def test_values_that_are_decoded_take_a_step_s_memory_and_free_the_codes():
    """Figures of Triton 3.6's own: 153,656 bytes with 4 stages, less its barriers."""
    blocks = Blocks(**BLOCKS | {"stages": 4}, decoded="b")
    a, codes = 64 * 128 * 2, 128 * 128 + 128 * 4 * 4
    assert (
        4 * blocks.operand_bytes(2) + blocks.decoded_bytes() == 4 * a + 3 * codes + 128 * 128 * 2 == 153_600
    )
    assert blocks.within((154 << 10) + (2 << 10), 2, 2) == blocks
    assert blocks.within(150 << 10, 2, 2).stages == 3


@pytest.mark.parametrize("device", [ADA, HOPPER, BLACKWELL, BLACKWELL_RTX], ids=lambda device: device.name)
@pytest.mark.parametrize("mnk", [(1, 4096, 4096), (256, 4096, 4096), (8192, 8192, 8192)], ids=str)
@pytest.mark.parametrize("matmul", MATMULS)
@pytest.mark.parametrize("recipe", ["rowwise", "deepseek_v3"])
def test_the_built_in_blocks_fit_every_gpu(device, mnk, recipe, matmul):
    meaning = meaning_of(RECIPES[recipe].spec(MATMULS[matmul]), device, Summation.RECIPE)
    limit, out_bytes = device.shared_memory_bytes, meaning.spec.out.bytes
    blocks = built_in(meaning, mnk, device)
    assert blocks.tma == (device is not ADA)
    assert blocks.body is Body.SIMPLE
    out = blocks.block_m * blocks.block_n * out_bytes if blocks.persistent else 0
    assert blocks.stages * blocks.operand_bytes(1) + out < limit


SHAPES = ((64, 4096, 4096), (4096, 4096, 4096))
BY_BODY = pytest.mark.parametrize("body", BODIES, ids=lambda body: body.value)


def meanings(device) -> list[Meaning]:
    asked = product(RECIPES.values(), MATMULS.values(), Summation)
    made = (meaning_of(recipe.spec(matmul), device, how) for recipe, matmul, how in asked)
    return [one for one in made if isinstance(one, Meaning)]


def held_bytes(plan: GemmPlan) -> int:
    """Bytes of the boxes that a plan's storage keeps: stages of A, B and scales along K, and parts of D."""
    storage, spec = plan.storage, plan.meaning.spec
    steps = NARROW_STEPS if plan.body is Body.NARROW else 1
    codes = [plan.body is Body.DECODING and side in plan.blocks.decoded for side in "ab"]
    sizes = [
        1 if code else format_.bytes for code, format_ in zip(codes, plan.meaning.multiplied, strict=True)
    ]
    stage = steps * sum(
        prod(box) * size for box, size in zip((storage.a_box, storage.b_box), sizes, strict=True)
    )
    if plan.meaning.scale_at is ScaleAt.K_LOOP:
        stage += 4 * (storage.a_scales + storage.b_scales)
    warpgroups = plan.blocks.warps // WARPGROUP_WARPS
    parts = warpgroups * storage.buffers * prod(storage.out_box or (0,)) * spec.out.bytes
    return storage.stages * stage + parts


@BY_BODY
def test_its_blocks_are_plans_of_that_body(body):
    device = BLACKWELL if body is Body.NATIVE_MX else HOPPER
    found = 0
    for meaning, mnk in product(meanings(device), SHAPES):
        for blocks in tries(body, meaning, mnk, device):
            plan = GemmPlan(meaning=meaning, blocks=blocks, sms=device.sms)
            assert plan.body is body
            assert (plan.storage is None) == (BODIES[body].storage is None) == body.is_simple
            if plan.storage:
                assert plan.storage.stages == blocks.stages
                assert held_bytes(plan) <= plan.storage.bytes <= device.shared_memory_bytes
            found += 1
    assert found, "a body that nothing asks for is no body"


@BY_BODY
def test_a_plan_that_its_body_refuses_cannot_be_made(body):
    device = BLACKWELL if body is Body.NATIVE_MX else HOPPER
    mnk = SHAPES[0]
    able = {one: next(tries(body, one, mnk, device), None) for one in meanings(device)}
    blocks = next(iter(filter(None, able.values())), None) or next(
        found for one in able for found in tries(body, one, SHAPES[1], device)
    )
    refused = [one for one in able if BODIES[body].refusal(one)]
    for meaning in refused:
        with pytest.raises(ValueError, match=r"got .*schedule, block"):
            GemmPlan(meaning=meaning, blocks=blocks, sms=device.sms)
    assert refused or body is Body.SIMPLE


def test_a_plan_as_data_survives_json_and_says_its_title():
    for meaning in meanings(HOPPER):
        for body in BODIES:
            for blocks in tries(body, meaning, SHAPES[0], HOPPER):
                plan = GemmPlan(meaning=meaning, blocks=blocks, sms=HOPPER.sms)
                assert from_data(type(plan.ran), to_data(plan.ran)) == plan.ran
                assert plan.ran.title == plan.title
                assert replace(plan, why="other").ran == plan.ran
                break
