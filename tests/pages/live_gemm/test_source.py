"""Contract: Live GEMM shows the source of the kernel that ran, and the simple one's beside a fast one's. The
registry of variants says which that is, from the plan that the measurement carries.
"""

import ast
from dataclasses import replace
from itertools import cycle

import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import BLACKWELL, HOPPER, Unsupported
from kernels.gemm.blocks import Variant
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import plan_built_in, plan_simple
from kernels.gemm.variants import VARIANTS, WHOLE_FILE
from kernels.measure.jobs import GemmJob
from kernels.measure.records import GEMMS
from kernels.measure.tune import coarse
from kernels.paths import RECORDS, TOP
from pages.kit.in_code.source_text import explanation, text
from pages.kit.inert import plain
from pages.live_gemm.result import sentence, source_of
from tests.pages.gemm_rows import gpu_row, record, timing

PAGE = "pages/live_gemm.py"
RECIPES_WITH_ROWS = {row.job.recipe for row in GEMMS.read(RECORDS).rows}
JOB = GemmJob(recipe="deepseek_v3", matmul="fprop", m=4096, n=4096, k=7168)


def ran(recipe="deepseek_v3", matmul="fprop", m=4096, how=Summation.RECIPE, device=HOPPER):
    """Plans as a measurement keeps them: the simple one, then one of each other variant, split and not."""
    mnk = (m, 4096, 4096)
    plan = plan_built_in(RECIPES[recipe].spec(MATMULS[matmul]), mnk, device, how)
    if isinstance(plan, Unsupported):
        return []
    fast = [blocks for blocks in coarse(plan, mnk, device) if not blocks.variant.is_simple]
    kinds = {(blocks.variant, blocks.split_k > 1): blocks for blocks in fast}
    return [plan.record, *(replace(plan, blocks=blocks).record for blocks in kinds.values())]


@pytest.fixture
def shown(open_app, stand_in_workers, tmp_path):
    """A function that shows one recorded row on the page; the texts and the code of its kernel."""

    def show(plan, **changes):
        words = {"kernel": plan.title} if plan else {}
        record(tmp_path, [gpu_row(JOB, plan=plan, **words, **changes)])
        at = open_app(PAGE)
        assert not at.exception
        words = [one.value for one in at.markdown]
        first = next(place for place, one in enumerate(words) if "** ran" in one)
        return words[first:], [one.value for one in at.code if "def " in one.value]

    return show


def functions(source):
    return {node.name for node in ast.parse(text(source)).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("device", [HOPPER, BLACKWELL], ids=lambda device: device.name)
@pytest.mark.parametrize("matmul", MATMULS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_source_of_a_simple_plan_is_whole_kernels_of_triton(recipe, matmul, device):
    for m in (16, 4096):
        spec = RECIPES[recipe].spec(MATMULS[matmul])
        plan = plan_simple(spec, (m, 4096, 4096), device, Summation.RECIPE)
        if isinstance(plan, Unsupported):
            assert recipe not in RECIPES_WITH_ROWS
            continue
        plan = plan.record
        source = source_of(plan)
        tree = ast.parse(text(source))
        assert [node.name for node in tree.body] == [name for _, name in source.places]
        assert all("triton.jit" in ast.unparse(node.decorator_list[0]) for node in tree.body)
        assert ("decodes in its K loop" in source.title) == bool(plan.blocks.decoded)
        assert ("def general_gemm_kernel" in text(source)) == plan.blocks.is_general


@pytest.mark.parametrize(("recipe", "how"), [*zip(RECIPES, cycle(Summation))])
def test_the_source_of_a_fast_plan_is_its_body_s_after_its_passes(recipe, how):
    for matmul in MATMULS:
        for plan in [plan for m in (64, 256, 4096) for plan in ran(recipe, matmul, m, how)[1:]]:
            source = source_of(plan)
            entry = VARIANTS[plan.variant]
            split = plan.blocks.split_k > 1
            own = (*entry.sources, *(("gemm/hopper/shared_sums.py", WHOLE_FILE),) * split)
            assert source.places[-len(own) :] == own
            assert source.title.startswith(entry.title)
            assert (", split-K" in source.title) == split
            assert ("refold_kernel" in functions(source)) == plan.refolded
            assert "warp" in explanation(source.explained_in)


def test_every_recorded_row_tells_its_plan_or_that_its_kernel_is_gone():
    rows = GEMMS.read(RECORDS).rows
    assert rows
    for row in rows:
        if row.plan is None:
            assert "whose source is not shown here" in sentence(row)
        else:
            assert row.plan.title == row.kernel
            assert all((TOP / "kernels" / file).exists() for file, _ in source_of(row.plan).places)
    assert {row.plan.variant for row in rows if row.plan} <= set(VARIANTS)


def test_a_specialized_kernel_is_explained_and_says_why_it_ran(shown):
    why = "the best blocks measured on A GPU, 2026-11-20, for this shape class"
    (plan,) = (plan for plan in ran("rowwise", how=Summation.FAST) if plan.variant is Variant.CHAINED)
    words, code = shown(plan, why=why, simple=timing(150.0))
    assert words[0].startswith(
        f"**{VARIANTS[Variant.CHAINED].title}** ran: {plan.title}. Why: {why}. The simple"
    )
    assert "took 150 µs in the same run: this one is 1.50 times as fast" in words[0]
    assert any(one.startswith("The fast GEMM on Hopper, in Gluon") for one in words)
    assert ["def gemm_kernel" in code[0], "def consume" in code[1]] == [True, True]


def test_the_simple_kernel_stands_alone_where_it_ran(shown):
    simple, *_ = ran("rowwise")
    words, code = shown(simple)
    assert words[0] == f"**The simple kernel** ran: {simple.title}."
    assert len(code) == 1
    assert "tl.dot(a, b.T, acc" in code[0]


def test_a_row_without_a_plan_is_named_and_the_simple_kernel_shown(shown):
    words, code = shown(None, kernel="stand_in_kernel")
    assert words[0].startswith(f"**{plain('stand_in_kernel')}** ran, whose source is not shown here")
    assert len(code) == 1
