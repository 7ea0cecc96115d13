"""Contract: every kernel body is one entry of BODIES, and the entry keeps its promises. Its sources are
there, its launcher can be imported, its blocks are plans of that body within the GPU's shared memory.
"""

import ast
from dataclasses import replace
from itertools import product
from math import prod

import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import BLACKWELL, HOPPER
from kernels.gemm.blocks import Body
from kernels.gemm.bodies import BODIES, WHOLE_FILE, tries
from kernels.gemm.hopper.sizes import NARROW_STEPS, WARPGROUP_WARPS
from kernels.gemm.meaning import Meaning, ScaleAt, Summation, meaning_of
from kernels.gemm.plan import GemmPlan
from kernels.paths import TOP
from kernels.typed import from_data, to_data

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
def test_its_sources_are_there_and_its_explanation_is(body):
    entry = BODIES[body]
    assert entry.sources
    assert bool(entry.explained_in) != body.is_simple
    for file, name in (*entry.sources, *entry.shared_sources):
        tree = ast.parse((TOP / "kernels" / file).read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name in defined | {WHOLE_FILE}, file
    if entry.explained_in:
        source = (TOP / "kernels" / entry.explained_in).read_text(encoding="utf-8")
        assert "warp" in (ast.get_docstring(ast.parse(source)) or "")


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
