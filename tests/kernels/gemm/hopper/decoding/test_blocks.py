"""Contract: the pass before the kernel moves numbers within 16 along K, and no more; its blocks and runs of K
fit the shape; what it cannot run is not offered.
"""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from fp8core.linear import Side
from fp8core.packing import unpack
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE, TileShape
from kernels.device import HOPPER, current_device
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.bodies import tries
from kernels.gemm.cost.work import work_of
from kernels.gemm.hopper.decoding.blocks import (
    beside,
    code_rows,
    refusal,
    runs_each,
    value_rows,
    values_order,
)
from kernels.gemm.hopper.decoding.launch import constants
from kernels.gemm.hopper.scale_rows import loaded_lines
from kernels.gemm.hopper.sizes import ROWS_OF_TWO, TMA_BYTES
from kernels.gemm.hopper.storage import wgmma_rows
from kernels.gemm.launch import factor
from kernels.gemm.meaning import ScaleAt, Summation
from kernels.gemm.plan import plan_built_in, plan_gemm
from kernels.operand_passes.bf16 import laid_out
from kernels.operand_passes.decode_ptx import read_as
from kernels.operand_passes.dequantize import dequantize
from tests.kernels.cases import GEMMS
from tests.kernels.gemm.hopper.decoding.plans import FPROP, WGRAD, decoding, operands


def origin(place: int, order: int) -> int:
    """The number along K that lies at a place, said another way than the kernel says it.

    A thread has 4 neighboring bytes of 16, and the instructions give them as 0, 2, 1, 3. A byte is one code,
    or two of 4 bits: then all low halves come first.
    """
    group, rest = divmod(place, 16)
    register, thread, half = rest // 8, rest % 8 // 2, rest % 2
    byte = 4 * thread + (0, 2, 1, 3)[2 * register + half]
    if order == 8:
        return 16 * group + byte
    return 32 * (group // 2) + 2 * byte + group % 2


@pytest.mark.parametrize(("recipe", "order"), [("mxfp8", 8), ("nvfp4", 4)])
@pytest.mark.parametrize("k", [16, 100, 256])
def test_the_pass_puts_numbers_where_the_tensor_core_meets_them(k, recipe, order):
    a, _ = operands((20, 40, k), recipe=recipe)
    kind = current_device().kind
    plain, paired = dequantize(a, kind), dequantize(a, kind, order=order)
    assert plain.shape == (20, k)
    assert paired.shape[1] % 128 == 0
    assert paired.shape[1] >= k, "a number may move beyond K"
    for place in range(paired.shape[1]):
        at = origin(place, order)
        expected = plain[:, at] if at < k else torch.zeros_like(plain[:, 0])
        assert torch.equal(paired[:, place], expected), place
    x = plain.to(torch.bfloat16)
    assert torch.equal(laid_out(x, kind, order), paired), "a bf16 operand goes the same way"
    assert torch.equal(laid_out(x.T.contiguous().T, kind, order), paired), "of any strides"


@pytest.mark.parametrize("recipe", [name.split("-")[0] for name in GEMMS if name.endswith("fprop")])
def test_what_it_decodes_is_laid_out_as_the_kernel_reads_it(recipe):
    """Rows of bytes of codes and of scales: one scale a row, whatever the tile, and no code of 6 bits."""
    (m, n, k), spec = (20, 256, 160), RECIPES[recipe].fprop
    plan = plan_built_in(spec, (m, n, k), HOPPER, Summation.RECIPE)
    blocks = next(tries(Body.DECODING, plan.meaning, (m, n, k), HOPPER), None)
    if blocks is None:
        return
    assert blocks.decoded == "b"
    plan = replace(plan, blocks=blocks)
    _a, b = operands((m, n, k), recipe=recipe)
    given = factor(b, plan, current_device().kind, Side.B)
    read = read_as(spec.b)
    assert given.given.dtype == torch.uint8
    assert given.given.shape == (n, 256 * read.format.packed_bits // 8)
    scale = given.line_scale
    assert scale.dtype == torch.uint8
    assert scale.shape == (-(-k // spec.b.tile.k), n)
    assert scale.stride(1) == 1
    assert scale.stride(0) % TMA_BYTES == 0
    numbers = spec.b.scale_rule.format.decode(scale.cpu().numpy()).repeat(spec.b.tile.k, axis=0)[:k].T
    codes = unpack(given.given.cpu().numpy(), read.format.packed_bits, 256)[:, :k]
    exact = b.exact_operand(0, n).cpu().numpy()
    outer = 1.0 if b.outer_scale is None else b.outer_scale.double().item()
    np.testing.assert_array_equal(read.format.decode(codes) * numbers * outer, exact)
    assert values_order(plan.meaning, blocks) == read.format.packed_bits


@pytest.mark.parametrize(
    ("m", "block_m", "count"),
    [(1, 16, 2), (16, 16, 2), (17, 32, 2), (100, 128, 2), (256, 256, 1), (257, 256, 3)],
)
@pytest.mark.parametrize("decoded", ["a", "b"])
def test_a_block_has_all_rows_or_256_of_them(m, block_m, count, decoded):
    """Of a few hundred rows it may have 128, too, or those of two wgmma, which the next test counts."""
    _, every = decoding((m, 4096, 4096) if decoded == "b" else (4096, m, 4096))
    every = [plan for plan in every if plan.blocks.decoded != "ab" and code_rows(plan.blocks) == 128]
    every = [plan for plan in every if value_rows(plan.blocks) not in ROWS_OF_TWO]
    plans = [plan for plan in every if {plan.blocks.block_m, plan.blocks.block_n} != {128} or block_m == 128]
    assert (len(every) > len(plans)) == (block_m == 256)
    assert {plan.blocks.decoded for plan in plans} == {decoded}, "the larger operand is"
    assert {(plan.blocks.block_m, plan.blocks.block_n) for plan in plans} == {
        (block_m, 128) if decoded == "b" else (128, block_m)
    }
    assert all((plan.body is Body.DECODING) for plan in plans)
    alone = [plan.blocks.split_k for plan in plans if plan.blocks.split_k <= (2 if block_m <= 64 else 1)]
    steps = {plan.blocks.block_k for plan in plans}
    assert steps == ({64, 128} if block_m < 256 else {64}), "as many codes as 128 bytes have"
    assert alone == ([1, 2] * 2 if block_m <= 64 else [1] * count)
    assert len(plans) > len(alone), "32 or 64 blocks, and 132 SMs"
    assert len(plans) == len({plan.blocks for plan in plans})


@pytest.mark.parametrize(
    ("m", "rows"),
    [
        (64, set()),
        (65, {96}),
        (96, {96}),
        (97, set()),
        (128, set()),
        (129, {96, 160, 192}),
        (161, {96, 192}),
        (193, set()),
        (257, {96, 160, 192}),
        (384, {96, 192}),
        (385, {96, 160}),
        (512, set()),
        (1024, set()),
        (1025, set()),
    ],
)
@pytest.mark.parametrize("decoded", ["a", "b"])
def test_two_wgmma_multiply_rows_between_two_powers_where_no_more_are_empty(m, rows, decoded):
    """385 rows are 480 in blocks of 96 or 160, 512 in those of 128 or 256, and 576 in those of 192."""
    _, every = decoding((m, 4096, 4096) if decoded == "b" else (4096, m, 4096))
    found = [plan.blocks for plan in every if value_rows(plan.blocks) in ROWS_OF_TWO]
    assert {value_rows(blocks) for blocks in found} == rows
    assert {blocks.decoded for blocks in found} <= {decoded}, "no warpgroup decodes them beside the codes"
    assert {code_rows(blocks) for blocks in found} <= {128}
    assert all(sum(wgmma_rows(value_rows(blocks))) == value_rows(blocks) for blocks in found)


@pytest.mark.parametrize(
    ("mnk", "runs"),
    [
        ((16, 4096, 14336), {1: 1, 2: 2, 4: 2, 7: 1, 8: 2}),
        ((4096, 64, 14336), {1: 1, 2: 2, 4: 2, 7: 1, 8: 2}),
        ((128, 4096, 14336), {1: 1, 2: 1, 4: 1}),
        ((4096, 256, 14336), {1: 1, 2: 1, 4: 1}),
        ((16, 14336, 4096), {1: 1, 2: 2}),
        ((16, 256, 1024), {1: 1, 2: 2, 4: 2}),
    ],
    ids=str,
)
def test_programs_share_blocks_until_every_sm_has_one(mnk, runs):
    """Runs of K, and how many of them a program takes: 132 SMs, 32 blocks of 128 codes of 4096."""
    _, plans = decoding(mnk)
    with_pass = [plan.blocks for plan in plans if plan.blocks.decoded != "ab"]
    assert {blocks.split_k: runs_each(blocks, mnk[2]) for blocks in with_pass} == runs
    _, plans = decoding(mnk, spec=WGRAD)
    fp32 = [plan.blocks for plan in plans if plan.blocks.decoded != "ab"]
    assert {blocks.split_k: runs_each(blocks, mnk[2]) for blocks in fp32} == runs


@pytest.mark.parametrize(
    ("mnk", "runs"),
    [
        ((16, 25600, 512), {"b": 1, "ab": 1}),
        ((4096, 64, 14336), {"a": 7}),
        ((16, 16896, 4096), {"ab": 2}),
        ((64, 25600, 512), {"b": 1}),
        ((128, 25600, 512), {"ab": 1}),
    ],
    ids=str,
)
def test_an_sm_holds_two_programs_where_rows_are_few_and_blocks_end_in_half_a_wave(mnk, runs):
    """200 blocks; 32, of which 7 programs share each; 132, one for each SM, or two where both operands are
    decoded; sums of 64 rows, too large beside a decoding warpgroup; 200 with large sums, or 800 of 32 rows.
    """
    _, plans = decoding(mnk)
    two = [plan for plan in plans if beside(plan.blocks, plan.storage, mnk[2])]
    assert {plan.blocks.decoded: plan.blocks.split_k for plan in two} == runs
    for plan in two:
        assert not plan.blocks.persistent
        assert 2 * (plan.storage.bytes + 1024) <= 228 * 1024
        assert work_of(plan.meaning, plan.blocks, mnk, HOPPER).resident == 2
        assert constants(plan, mnk[2], accumulate=False)["BESIDE"]


@pytest.mark.parametrize(("k", "each"), [(512, 2), (440, 2), (640, 1), (130, 1), (64, 1)])
def test_a_program_takes_two_runs_only_where_they_are_as_long_but_for_a_step(k, each):
    """In runs of 2, 2, 2 and 2 steps of 64; 2, 2, 2, 1; 3, 3, 3, 1; three of one; one."""
    blocks = Blocks(
        body=Body.DECODING,
        block_m=16,
        block_n=128,
        block_k=64,
        warps=8,
        stages=4,
        split_k=4,
        decoded="b",
    )
    assert runs_each(blocks, k) == each


@pytest.mark.parametrize(
    ("tile", "sentence"),
    [
        (TileShape(1, 8), "those of {} are of 1 × 8"),
        (TileShape(1, 128), "those of {} are of 1 × 128"),
        (TileShape(1, WHOLE), "multiplies finished sums by one scale of each operand"),
        (TileShape(WHOLE, 32), "those of {} are of all rows × 32"),
    ],
    ids=str,
)
def test_what_it_does_not_take_is_said_and_not_offered(tile, sentence):
    other = replace(FPROP.b, tile=tile)
    made = plan_built_in(FPROP, (16, 4096, 4096), HOPPER, Summation.RECIPE).meaning
    both, one = (replace(made, spec=replace(FPROP, a=a, b=other)) for a in (other, FPROP.a))
    assert sentence.format("B") in refusal(both)
    assert not list(tries(Body.DECODING, both, (16, 4096, 4096), HOPPER))
    if tile.k is not WHOLE:
        assert refusal(one) == "", "the other operand is decoded then"
        assert not list(tries(Body.DECODING, one, (16, 4096, 4096), HOPPER)), "unless it has few rows"
        assert {blocks.decoded for blocks in tries(Body.DECODING, one, (512, 4096, 4096), HOPPER)} == {"a"}


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_with_scales_on_its_codes_is_decoded_or_it_is_said_why_not(recipe):
    """Codes with one-byte scales of 16, 32 or 64 along K are; HiF8 has one scale in all."""
    for mnk in ((16, 14336, 4096), (4096, 4096, 7168)):
        meaning = plan_built_in(RECIPES[recipe].fprop, mnk, HOPPER, Summation.RECIPE).meaning
        on_codes = meaning.scale_at is ScaleAt.OPERANDS
        assert bool(list(tries(Body.DECODING, meaning, mnk, HOPPER))) == on_codes
        assert bool(refusal(meaning)) != on_codes


@pytest.mark.parametrize("m", [16, 32, 64, 128, 256])
def test_the_table_has_it_for_few_tokens(m):
    plan = plan_gemm(FPROP, (m, 14336, 4096), HOPPER, Summation.RECIPE)
    assert refusal(plan.meaning) == ""
    assert plan.body is Body.DECODING


@pytest.mark.parametrize("mnk", [(14336, 4096, 4096), (4096, 7168, 4096), (7168, 4096, 4096)], ids=str)
def test_the_larger_operand_is_decoded(mnk):
    m, n, _ = mnk
    plan = plan_gemm(WGRAD, mnk, HOPPER, Summation.RECIPE)
    assert plan.body is Body.DECODING
    assert plan.blocks.decoded == ("a" if m > n else "b")
    assert value_rows(plan.blocks) == 256


@pytest.mark.parametrize("rows", [1, 33, 321, 336])
def test_scales_are_loaded_from_where_tma_can_start(rows):
    """Rows of bytes, which TMA reads where they start at multiples of 16: others are copied."""
    mnk = (rows, 24, 256)
    a, _ = operands(mnk)
    plan = next(plan for plan in decoding((4096, 24, 256))[1] if plan.blocks.decoded == "a")
    made = factor(a, plan, current_device().kind, Side.A)
    loaded = loaded_lines(made)
    assert loaded.shape == (256 // 32, rows)
    assert (loaded.stride(0) % TMA_BYTES, loaded.stride(1)) == (0, 1)
    assert torch.equal(loaded, made.line_scale)
    assert (loaded.data_ptr() == a.scale.data_ptr()) == (rows % TMA_BYTES == 0)


def test_the_larger_operand_is_decoded_whatever_its_number_of_rows():
    chance = random.Random(21)
    drawn = [(chance.randint(257, 9000), 8 * chance.randint(1, 1100)) for _ in range(50)]
    for m, n in [(4097, 4096), (4097, 136), *drawn]:
        mnk = (m, n, 4096)
        plan = plan_gemm(FPROP, mnk, HOPPER, Summation.RECIPE)
        found = list(tries(Body.DECODING, plan.meaning, mnk, HOPPER))
        assert found, mnk
        assert {blocks.decoded for blocks in found} - {"ab"} == {"a" if m > n else "b"}, mnk
        both = {(blocks.block_m, blocks.block_n) for blocks in found if blocks.decoded == "ab"}
        few = {(32, 128), (64, 128)} if m <= 512 else set()
        assert both == few | {(128, 128), (128, 256)}, "they are decoded, too"


@pytest.mark.parametrize("spec", [FPROP, WGRAD], ids=["bf16", "fp32"])
def test_as_many_parts_of_d_are_under_way_as_cost_no_stage(monkeypatch, spec):
    plans = {rows: decoding((rows, 4096, 4096), spec=spec)[1][0] for rows in (16, 64, 128, 4096)}
    buffers = [plan.storage.buffers for plan in plans.values()]
    assert buffers == ([1, 1, 2, 4] if spec is FPROP else [1, 2, 4, 4])
    monkeypatch.setattr("kernels.gemm.hopper.storage.DECODED_PARTS_UNDER_WAY", 2)
    fewer = decoding((4096, 4096, 4096), spec=spec)[1][0]
    assert (fewer.storage.buffers, fewer.blocks.stages) == (2, plans[4096].blocks.stages)


@pytest.mark.parametrize(("rows", "steps"), [(16, {64, 128, 256}), (64, {64, 128}), (100, set())])
def test_a_program_takes_two_runs_where_registers_hold_sums_beside_a_step(rows, steps):
    _, plans = decoding((rows, 14336, 4096), spec=RECIPES["mxfp4"].fprop)
    assert {plan.blocks.block_k for plan in plans if plan.blocks.split_k == 2} == steps


@pytest.mark.parametrize("recipe", ["nvfp4", "uniform4"])
def test_a_ring_has_two_stages_or_more(recipe):
    """With one, a warpgroup would wait for the codes of a step before it releases those of the one before."""
    mnk = (200, 112, 6000)
    plan = plan_built_in(RECIPES[recipe].wgrad, mnk, HOPPER, Summation.RECIPE)
    found = list(tries(Body.DECODING, plan.meaning, mnk, HOPPER))
    assert found
    assert min(each.stages for each in found) >= 2


def test_a_program_that_decodes_both_takes_two_runs_only_with_four_warpgroups_that_multiply():
    mnk = (16, 1024, 1024)
    both = [plan.blocks for plan in decoding(mnk)[1] if plan.blocks.decoded == "ab"]
    pairs = {blocks for blocks in both if runs_each(blocks, mnk[2]) == 2}
    assert pairs == {blocks for blocks in both if blocks.warps == 16}
    for blocks in pairs:
        assert runs_each(replace(blocks, warps=8), mnk[2]) == 1
        assert runs_each(replace(blocks, persistent=True), mnk[2]) == 1, "it has memory for one block's sums"
        assert runs_each(replace(blocks, block_m=64, block_k=128), mnk[2]) == 1, "registers hold no more"
