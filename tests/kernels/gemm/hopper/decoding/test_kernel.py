"""Contract: the kernel that decodes one operand in registers, the larger one, gives the bits of the simple
kernel with the same runs of K; the pass before it moves the other's numbers within 16 along K, and no more;
what it cannot run is not offered.
"""

from dataclasses import replace

import pytest
import torch

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE, TileShape
from kernels.bench.job import GemmJob
from kernels.bench.operands import Operands
from kernels.device import HOPPER, INTERPRETER, DeviceKind, current_device
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.bodies import tries
from kernels.gemm.hopper.decoding.blocks import candidates, refusal, runs_each, turned, value_rows
from kernels.gemm.hopper.sizes import CONSUMERS
from kernels.gemm.launch import gemm, launch, torch_dtype
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_built_in, plan_gemm
from kernels.gemm.shape_class import ShapeClass
from kernels.gemm.tuned import table
from kernels.operand_passes.dequantize import dequantize
from tests.kernels.cases import problem

FPROP, WGRAD = RECIPES["mxfp8"].fprop, RECIPES["mxfp8"].wgrad
SHAPES = {
    "one step": (16, 128, 64),
    "one row": (1, 136, 96),
    "odd": (20, 264, 1000),
    "odd steps": (33, 520, 4164),
    "half a block": (100, 1000, 4100),
    "rows": (200, 2056, 1664),
    "waves": (256, 20480, 640),
    "many rows": (1300, 4104, 1100),
    "few columns": (200, 24, 1000),
    "more rows": (4100, 136, 2052),
    "many columns": (4104, 1304, 1100),
}


def decoding(mnk, device=HOPPER, spec=FPROP):
    """(the simple plan, the plans that decode in registers) of a GEMM."""
    plan = plan_built_in(spec, mnk, device, Summation.RECIPE)
    return plan, [replace(plan, blocks=blocks) for blocks in candidates(plan.meaning, mnk, device)]


def operands(mnk, device, matmul="fprop"):
    m, n, k = mnk
    return Operands.of(GemmJob(recipe="mxfp8", matmul=matmul, m=m, n=n, k=k), device).quantized()


@pytest.mark.parametrize("k", [16, 100, 256])
def test_the_pass_puts_numbers_where_the_tensor_core_meets_them(k):
    a, _ = operands((20, 40, k), current_device())
    kind = current_device().kind
    plain, paired = dequantize(a, kind), dequantize(a, kind, paired=True)
    assert plain.shape == (20, k)
    assert paired.shape[1] % 128 == 0
    assert paired.shape[1] >= k, "a number may move beyond K"
    for place in range(paired.shape[1]):
        half, rest = place % 16 // 8, place % 8
        origin = place // 16 * 16 + 4 * (rest // 2) + 2 * (rest % 2) + half
        expected = plain[:, origin] if origin < k else torch.zeros_like(plain[:, 0])
        assert torch.equal(paired[:, place], expected), place


@pytest.mark.parametrize(
    ("m", "block_m", "count"),
    [(1, 16, 2), (16, 16, 2), (17, 32, 2), (100, 128, 1), (256, 256, 1), (257, 256, 3)],
)
@pytest.mark.parametrize("decoded", ["a", "b"])
def test_a_block_has_all_rows_or_256_of_them(m, block_m, count, decoded):
    _, plans = decoding((m, 4096, 4096) if decoded == "b" else (4096, m, 4096))
    assert {plan.blocks.decoded for plan in plans} == {decoded}, "the larger operand is"
    assert {(plan.blocks.block_m, plan.blocks.block_n) for plan in plans} == {
        (block_m, 128) if decoded == "b" else (128, block_m)
    }
    assert all((plan.body is Body.DECODING) for plan in plans)
    alone = [plan.blocks.split_k for plan in plans if plan.blocks.split_k <= (2 if block_m <= 64 else 1)]
    assert alone == ([1, 2] if block_m <= 64 else [1] * count)
    assert (len(plans) > len(alone)) == (m <= 256), "32 blocks, and 132 SMs"
    assert len(plans) == len({plan.blocks for plan in plans})


@pytest.mark.parametrize(
    ("mnk", "runs"),
    [
        ((16, 4096, 14336), {1: 1, 2: 2, 4: 2, 8: 2}),
        ((4096, 64, 14336), {1: 1, 2: 2, 4: 2, 8: 2}),
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
    assert {plan.blocks.split_k: runs_each(plan.blocks, mnk[2]) for plan in plans} == runs
    _, plans = decoding(mnk, spec=WGRAD)
    assert {plan.blocks.split_k for plan in plans} <= {1, 2}, "an fp32 D is not passed on"


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
        (TileShape(32, 32), "those of {} are of 32 × 32"),
        (TileShape(1, 16), "those of {} are of 1 × 16"),
        (TileShape(1, 128), "those of {} are of 1 × 128"),
        (TileShape(1, WHOLE), "those of {} are of 1 × all of K"),
        (TileShape(WHOLE, 32), "those of {} are of all rows × 32"),
    ],
    ids=str,
)
@pytest.mark.parametrize("side", ["a", "b"])
def test_what_it_does_not_take_is_said_and_not_offered(tile, sentence, side):
    spec = replace(FPROP, **{side: replace(FPROP.b, tile=tile)})
    made = replace(plan_built_in(FPROP, (16, 4096, 4096), HOPPER, Summation.RECIPE).meaning, spec=spec)
    assert sentence.format(side.upper()) in refusal(made)
    assert not list(tries(Body.DECODING, made, (16, 4096, 4096), HOPPER))


@pytest.mark.parametrize("m", [16, 32, 64, 128, 256])
def test_the_table_has_it_for_few_tokens(m):
    plan = plan_gemm(FPROP, (m, 14336, 4096), HOPPER, Summation.RECIPE)
    assert refusal(plan.meaning) == ""
    assert plan.body is Body.DECODING


@pytest.mark.parametrize("mnk", [(14336, 4096, 4096), (4096, 7168, 4096), (7168, 4096, 4096)], ids=str)
def test_the_larger_operand_is_decoded_whichever_the_table_s_shape_has(mnk):
    m, n, _ = mnk
    plan = plan_gemm(WGRAD, mnk, HOPPER, Summation.RECIPE)
    assert plan.body is Body.DECODING
    assert plan.blocks.decoded == ("a" if m > n else "b")
    assert value_rows(plan.blocks) == 256
    (row,) = (
        row
        for row in table(HOPPER.capability)[str(plan.meaning.family)]
        if row.shape == ShapeClass.of(mnk, HOPPER.sms) and row.blocks.decoded
    )
    exchanged = row.blocks.decoded != plan.blocks.decoded
    assert ("M and N exchanged" in plan.why) == exchanged
    assert turned(row.blocks, m, n) == plan.blocks
    assert plan.blocks.group == row.blocks.group


@pytest.mark.parametrize("spec", [FPROP, WGRAD], ids=["bf16", "fp32"])
def test_as_many_parts_of_d_are_under_way_as_cost_no_stage(monkeypatch, spec):
    plans = {rows: decoding((rows, 4096, 4096), spec=spec)[1][0] for rows in (16, 64, 128, 4096)}
    buffers = [plan.storage.buffers for plan in plans.values()]
    assert buffers == ([1, 1, 2, 3] if spec is FPROP else [1, 2, 3, 3])
    monkeypatch.setattr("kernels.gemm.hopper.storage.DECODED_PARTS_UNDER_WAY", 4)
    fewer = decoding((4096, 4096, 4096), spec=spec)[1][0]
    assert (fewer.storage.buffers, fewer.blocks.stages) == (4, plans[4096].blocks.stages - 1)


def test_blocks_that_are_not_decoded_in_registers_stay():
    for change in ({"decoded": "b"}, {"body": Body.PROMOTED}):
        blocks = Blocks(block_m=64, block_n=128, block_k=64, warps=8, stages=3, **change)
        assert turned(blocks, 2, 1) is turned(blocks, 1, 2) is blocks


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize(
    "mnk",
    [(20, 256, 320), (20, 256, 40), (200, 256, 320), (256, 24, 320), (256, 200, 40), (20, 256, 1024)],
    ids=str,
)
def test_the_launcher_gives_the_kernel_what_its_signature_names(monkeypatch, mnk, accumulate):
    from kernels.gemm.hopper.decoding import kernel as decoding_kernel

    names = decoding_kernel.decoding_gemm_kernel.arg_names
    said = {}

    class Recorded:
        def __getitem__(self, grid):
            return lambda *arguments, **constants: said.update(grid=grid, at=arguments, constants=constants)

    monkeypatch.setattr(decoding_kernel, "decoding_gemm_kernel", Recorded())
    m, n, k = mnk
    a, b = operands(mnk, HOPPER if torch.cuda.is_available() else INTERPRETER)
    decoded, other, of_a = (a, b, True) if m > n else (b, a, False)
    values = dequantize(other, current_device().kind, paired=True)
    passed = []
    monkeypatch.setattr(
        "kernels.gemm.launch.dequantize", lambda operand, *_, paired: passed.append(operand) or values
    )
    spec = WGRAD if accumulate else FPROP
    out = torch.zeros(m, n, dtype=torch_dtype(spec.out), device=values.device)
    for found in decoding(mnk, spec=spec)[1]:
        plan = replace(found, blocks=replace(found.blocks, group=3))
        launch(a, b, plan, out, accumulate, DeviceKind.GPU)
        given = dict(zip(names, said["at"], strict=False))
        assert set(names) - set(given) == {name for name in said["constants"] if name.isupper()}
        each = runs_each(plan.blocks, k)
        assert said["grid"] == (2 * plan.blocks.runs(k)[0] // each,)
        shared = given["parts_ptr"] is not None
        assert shared == (said["grid"] != (2,)) == (said["constants"]["RUNS"] > each)
        if shared:
            assert given["parts_ptr"].shape == (
                plan.blocks.split_k,
                2,
                plan.blocks.block_m,
                plan.blocks.block_n,
            )
            assert given["arrivals_ptr"].numel() >= 2 * CONSUMERS
        assert said["constants"]["ACCUMULATE"] == accumulate
        assert said["constants"]["RUNS"] == (plan.blocks.split_k if k > plan.blocks.block_k else 1)
        assert said["constants"]["EACH"] == each
        assert said["constants"]["OF_A"] == of_a
        assert said["constants"]["GROUP"] == 3
        assert passed.pop() is other
        assert given["values_desc"].base is values
        assert given["values_desc"].block_shape == [value_rows(plan.blocks), 64]
        codes = given["codes_desc"]
        assert (codes.base.dtype, codes.base.shape, codes.block_shape) == (torch.uint8, (256, k), [128, 64])
        assert codes.base.data_ptr() == decoded.codes.data_ptr()
        assert given["scale_desc"].base is decoded.scale
        assert given["out_desc"].block_shape == list(plan.storage.out_box)
        assert (given["m"], given["n"], given["k"], given["mn_tiles"]) == (m, n, k, 256)


@pytest.mark.gpu
@pytest.mark.parametrize("matmul", MATMULS)
@pytest.mark.parametrize("shape", SHAPES)
def test_it_gives_the_simple_kernel_s_bits(shape, matmul):
    mnk, device = SHAPES[shape], current_device()
    spec = RECIPES["mxfp8"].spec(MATMULS[matmul])
    simple, plans = decoding(mnk, device, spec)
    a, b = operands(mnk, device, matmul)
    for plan in plans:
        cut = replace(
            simple.blocks, split_k=plan.blocks.split_k, persistent=False, block_k=plan.blocks.block_k
        )
        truth = gemm(a, b, replace(simple, blocks=cut))
        first = torch.full_like(truth, torch.nan)
        gemm(a, b, plan, out=first)
        assert torch.equal(first.view(torch.int8), truth.view(torch.int8)), plan.title
        again = [gemm(a, b, plan, out=torch.full_like(truth, torch.nan)) for _ in range(100)]
        assert all(torch.equal(out.view(torch.int8), truth.view(torch.int8)) for out in again)


@pytest.mark.gpu
@pytest.mark.parametrize(("m", "n"), [(20, 264), (100, 264), (300, 264), (300, 1304), (264, 24)])
def test_it_adds_into_d(m, n):
    mnk, device = (m, n, 1000), current_device()
    a, b = operands(mnk, device, "wgrad")
    start = torch.randn(m, n, device="cuda")
    for plan in decoding(mnk, device, WGRAD)[1]:
        added = gemm(a, b, plan, out=start.clone(), accumulate=True)
        assert torch.equal(added, gemm(a, b, plan) + start), plan.title


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["nan", "inf", "zeros", "wide", "tiny", "large"])
@pytest.mark.parametrize("mnk", [(16, 256, 512), (256, 16, 512)], ids=str)
def test_special_values_are_decoded_as_the_pass_does(name, mnk):
    a, b, _ = problem(RECIPES["mxfp8"], MATMULS["fprop"], mnk, name)
    simple, plans = decoding(mnk, current_device())
    cut = replace(simple.blocks, persistent=False, split_k=1)
    truth = gemm(a, b, replace(simple, blocks=cut))
    out = gemm(a, b, plans[0])
    assert torch.equal(out.isnan(), truth.isnan())
    assert torch.equal(out.nan_to_num(7.0), truth.nan_to_num(7.0))


@pytest.mark.gpu
@pytest.mark.parametrize(("m", "n"), [(20, 264), (264, 24)])
def test_d_may_have_any_strides(m, n):
    mnk, device = (m, n, 1000), current_device()
    a, b = operands(mnk, device)
    for plan in decoding(mnk, device)[1]:
        truth = gemm(a, b, plan)
        wide = torch.zeros(m, n + 1, dtype=torch.bfloat16, device="cuda")
        for out in (wide[:, 1:], torch.zeros_like(truth.T).T, truth.new_zeros(n, m).T):
            assert torch.equal(gemm(a, b, plan, out=out), truth)
