"""Contract: Live GEMM shows the source of the kernel that ran, and the simple one's beside a fast one's."""

import ast
import re
from dataclasses import replace

import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE
from kernels.bench.job import GemmJob
from kernels.device import BLACKWELL, HOPPER, Unsupported
from kernels.gemm.blocks import DECODED_WORDS, Body
from kernels.gemm.hopper.decoding import blocks as decoding_blocks
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_built_in, plan_simple
from kernels.paths import TOP
from kernels.tune.candidates import coarse
from pages.kit import queue_panel as gpu_queue
from pages.kit import results as gemm_results
from pages.kit.inert import plain
from pages.kit.queue_panel import Workers
from pages.sections.gemm import source as gemm_source
from pages.sections.gemm.source import SIMPLE, SOURCES, Source, body, explanation, sentence, source_of, text
from tests.pages.gemm_rows import gpu_row, record, stand_in_queue, timing

PAGE = "pages/live_gemm.py"
JOB = GemmJob(recipe="deepseek_v3", matmul="fprop", m=4096, n=4096, k=7168)
FAST = Source(
    title="The fast kernel",
    said=("fp8 tensor core", "warp-specialized"),
    bodies=(("bits.py", "float_bits"),),
    instead_of=SIMPLE,
)
SIMPLE_ONES = tuple(source for source in SOURCES if source.instead_of is None)
FAST_ROW = {"kernel": "fp8 tensor core; warp-specialized schedule, block 1×2×3", "simple": timing(150.0)}


@pytest.fixture
def shown(open_app, monkeypatch, tmp_path):
    """A function that shows one recorded row on the page; the texts and the code in its expander."""
    made = Workers(stand_in_queue(), has_gpu=False)
    monkeypatch.setattr(gpu_queue, "workers", lambda: made)
    monkeypatch.setattr(gemm_results, "RECORDS", tmp_path)

    def show(**changes):
        record(tmp_path, [gpu_row(JOB, **changes)])
        at = open_app(PAGE)
        assert not at.exception
        (expander,) = (one for one in at.expander if one.label == "The kernel that ran")
        return [one.value for one in expander.markdown], [one.value for one in expander.code]

    yield show
    made.queue.close()


@pytest.mark.parametrize("source", SIMPLE_ONES, ids=lambda source: source.title)
def test_every_simple_source_is_a_whole_kernel_of_triton(source):
    tree = ast.parse(text(source))
    assert [node.name for node in tree.body] == [name for _, name in source.bodies]
    assert all("triton.jit" in ast.unparse(node.decorator_list[0]) for node in tree.body)


@pytest.mark.parametrize("device", [HOPPER, BLACKWELL], ids=lambda device: device.name)
@pytest.mark.parametrize("matmul", MATMULS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_every_simple_plan_s_title_says_which_source_ran(recipe, matmul, device):
    for m in (16, 4096):
        plan = plan_simple(RECIPES[recipe].spec(MATMULS[matmul]), (m, 4096, 4096), device, Summation.RECIPE)
        decoding = (DECODED_WORDS,) * bool(plan.blocks.decoded)
        assert source_of(plan.title, plan.meaning.spec.out.name).said == (
            plan.meaning.arithmetic.value,
            *decoding,
        )


@pytest.mark.parametrize("how", Summation, ids=lambda how: how.value)
@pytest.mark.parametrize("matmul", MATMULS)
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("m", [64, 128, 256, 4096])
def test_a_specialized_plan_s_title_says_which_of_its_loops_ran(recipe, matmul, how, m):
    mnk = (m, 4096, 4096)
    plan = plan_built_in(RECIPES[recipe].spec(MATMULS[matmul]), mnk, HOPPER, how)
    if isinstance(plan, Unsupported):
        pytest.skip(plan.reason)
    fast = [blocks for blocks in coarse(plan, mnk, HOPPER) if not blocks.body.is_simple]
    fast = [blocks for blocks in fast if not blocks.decoded]
    if not fast:
        pytest.skip("sums in the tensor core have no low blocks")
    out = plan.meaning.spec.out.name
    high = {"bf16": "gemm/hopper/promoted_lent.py", "fp32": "gemm/hopper/promoted.py"}[out]
    for blocks in {
        (b.block_m, b.block_n, b.split_k > 1): b for b in fast if b.body is not Body.NARROW
    }.values():
        promoted = high if blocks.block_m > 128 else "gemm/hopper/promoted_few_rows.py"
        ran = source_of(replace(plan, blocks=blocks).title, out)
        loop = "gemm/hopper/chained.py" if plan.meaning.promotion is WHOLE else promoted
        shared = ["gemm/hopper/shared_sums.py"] * (blocks.split_k > 1)
        assert [file for file, name in ran.bodies if name == gemm_source.WHOLE_FILE] == [loop, *shared]
        assert ran.instead_of is source_of(plan.title, out)
        passes = [name for one in (ran, ran.instead_of) for _, name in one.bodies if name == "refold_kernel"]
        assert len(passes) == (2 if plan.meaning.refolded_from else 0)
        assert "one warp loads" in explanation(ran.explained_in)
        names = {node.name for node in ast.parse(text(ran)).body if isinstance(node, ast.FunctionDef)}
        assert "produce" in names
        own = (TOP / "kernels" / loop).read_text(encoding="utf-8")
        (consume,) = re.findall(r"^def (consume\w+)", own, flags=re.MULTILINE)
        assert consume in names


@pytest.mark.parametrize("how", [Summation.FAST, Summation.PROMOTED], ids=lambda how: how.value)
def test_the_title_of_narrow_blocks_says_so(how):
    mnk = (64, 4096, 4096)
    plan = plan_built_in(RECIPES["rowwise"].fprop, mnk, HOPPER, how)
    (blocks,) = [blocks for blocks in coarse(plan, mnk, HOPPER) if blocks.body is Body.NARROW]
    ran = source_of(replace(plan, blocks=blocks).title, plan.meaning.spec.out.name)
    assert ran.bodies == (("gemm/hopper/narrow.py", gemm_source.WHOLE_FILE),)
    assert ("promoted" in ran.title) == (how is Summation.PROMOTED)
    assert ran.instead_of is source_of(plan.title, plan.meaning.spec.out.name)
    assert "one warp loads" in explanation(ran.explained_in)


@pytest.mark.parametrize(("m", "n"), [(16, 4096), (256, 4096), (4096, 1000)])
def test_the_title_of_a_plan_that_decodes_in_registers_says_so(m, n):
    plan = plan_built_in(RECIPES["mxfp8"].fprop, (m, n, 4096), HOPPER, Summation.RECIPE)
    for blocks in decoding_blocks.candidates(plan.meaning, (m, n, 4096), HOPPER):
        ran = source_of(replace(plan, blocks=blocks).title, plan.meaning.spec.out.name)
        files = [file for file, name in ran.bodies if name == gemm_source.WHOLE_FILE]
        assert files == ["gemm/hopper/decoding/kernel.py"] + ["gemm/hopper/shared_sums.py"] * (
            blocks.split_k > 1
        )
        assert {"_decoding", "produce", "decode", "consume"} <= {
            node.name for node in ast.parse(text(ran)).body if isinstance(node, ast.FunctionDef)
        }
        assert ran.instead_of is source_of(plan.title, plan.meaning.spec.out.name)
        assert "its warpgroups decode\ncodes in their own registers" in explanation(ran.explained_in)


def test_a_specialized_kernel_is_explained_and_says_why_it_ran(shown):
    why = "the best blocks measured on A GPU, 2026-11-20, for this shape class"
    kernel = "fp8 tensor core; warp-specialized schedule, block 128×256×128"
    told, code = shown(**FAST_ROW | {"kernel": kernel}, why=why)
    assert f"ran: {plain(kernel)}. Why: {why}. The simple kernel by its own plan" in told[0]
    assert any(one.startswith("The fast GEMM on Hopper, in Gluon") for one in told)
    assert ["def gemm_kernel" in code[0], "def consume_chained" in code[1]] == [True, True]


@pytest.mark.parametrize(("out", "body"), [("bf16", "consume_lent"), ("fp32", "consume_slabs")])
def test_where_d_leaves_is_told_by_its_format(shown, out, body):
    kernel = "fp8 tensor core, scales in the K loop, promoted every 128; warp-specialized schedule"
    _, code = shown(kernel=f"{kernel}, block 256×128×128, 8 warps", out=out)
    assert f"def {body}(" in code[1]


def test_the_simple_kernel_stands_alone_where_it_ran(shown):
    told, code = shown(kernel="fp8 tensor core, scales in the epilogue; block 1×2×3")
    assert "Why:" not in told[0]
    assert told[0] == "**The simple kernel** ran: fp8 tensor core, scales in the epilogue; block 1×2×3."
    assert len(code) == 1
    assert "tl.dot(a, b.T, acc" in code[0]


def test_a_fast_kernel_stands_beside_the_simple_one(shown, monkeypatch):
    monkeypatch.setattr(gemm_source, "SOURCES", (*SIMPLE_ONES, FAST))
    told, code = shown(**FAST_ROW)
    assert told[0].startswith("**The fast kernel** ran: fp8 tensor core; warp-specialized schedule")
    assert "took 150 µs in the same run: this one is 1.50 times as fast" in told[0]
    assert [one.split("(")[0] for one in code] == [
        "@triton.jit\ndef gemm_kernel",
        "@triton.jit\ndef float_bits",
    ]


def test_an_unknown_kernel_is_named_and_the_simple_one_shown(shown):
    told, code = shown(kernel="stand_in_kernel")
    assert told[0].startswith(f"**{plain('stand_in_kernel')}** ran, whose source is not shown here")
    assert len(code) == 1


def test_a_fast_kernel_that_is_gone_is_not_taken_for_the_simple_one():
    recorded = (
        "fp8 tensor core, scales in the epilogue; warp-specialized schedule, block 128×128×128, 8 warps"
    )
    assert source_of(recorded, "bf16") is None


def test_the_words_that_say_most_decide(monkeypatch):
    monkeypatch.setattr(gemm_source, "SOURCES", (FAST, *SIMPLE_ONES))
    assert source_of(FAST_ROW["kernel"], "bf16") is FAST
    assert source_of("fp8 tensor core, scales in the K loop", "bf16") is SIMPLE
    assert source_of("", "bf16") is None


def test_a_kernel_whose_file_is_not_here_is_not_taken_for_the_simple_one(monkeypatch):
    gone = replace(FAST, bodies=(("gone_kernel.py", gemm_source.WHOLE_FILE),))
    monkeypatch.setattr(gemm_source, "SOURCES", (*SIMPLE_ONES, gone))
    assert source_of(FAST_ROW["kernel"], "bf16") is None


def test_a_whole_file_is_shown_as_it_is():
    assert body("import x\n\n\ndef f(): pass\n", gemm_source.WHOLE_FILE) == "import x\n\n\ndef f(): pass"


def test_no_comparison_where_only_one_kernel_was_timed():
    assert "in the same run" not in sentence(gpu_row(JOB), SIMPLE)
    assert "in the same run" in sentence(replace(gpu_row(JOB), simple=timing(150.0)), SIMPLE)


def test_a_function_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="there is no function gone"):
        body("def here(): pass", "gone")
    assert body("x = 1\n@one\n@two\ndef here():\n    pass\n", "here") == "@one\n@two\ndef here():\n    pass"
