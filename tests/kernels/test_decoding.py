"""Contract: the kernel that decodes B in registers gives the bits of the simple kernel with the same runs of
K; the pass before it moves A's numbers within 16 along K, and no more; what it cannot run is not offered.
"""

from dataclasses import replace

import pytest
import torch

import kernels.gemm
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE, TileShape
from kernels.blocks import Schedule
from kernels.candidates import coarse
from kernels.decoding_blocks import candidates, lacking, out_box
from kernels.device import HOPPER, INTERPRETER, DeviceKind, current_device
from kernels.gemm import dequantize, gemm, launch, torch_dtype
from kernels.operands import Operands
from kernels.plan import plan_built_in, plan_gemm
from kernels.rows import Accumulation, GemmJob
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
}


def decoding(mnk, device=HOPPER, spec=FPROP):
    """(the simple plan, the plans that decode in registers) of a GEMM."""
    plan = plan_built_in(spec, mnk, device, Accumulation.RECIPE)
    return plan, [replace(plan, blocks=blocks) for blocks in candidates(spec, mnk[0], device)]


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
def test_a_block_has_all_rows_or_256_of_them(m, block_m, count):
    _, plans = decoding((m, 4096, 4096))
    assert {plan.block_m for plan in plans} == {block_m}
    assert all(plan.decodes_in_registers for plan in plans)
    assert [plan.blocks.split_k for plan in plans] == ([1, 2] if block_m <= 64 else [1] * count)
    assert len(plans) == len({plan.blocks for plan in plans}) == count


@pytest.mark.parametrize(
    ("tile", "sentence"),
    [
        (TileShape(32, 32), "those of B are of 32 × 32"),
        (TileShape(1, 16), "those of B are of 1 × 16"),
        (TileShape(1, 128), "those of B are of 1 × 128"),
        (TileShape(1, WHOLE), "those of B are of 1 × all of K"),
        (TileShape(WHOLE, 32), "those of B are of all rows × 32"),
    ],
    ids=str,
)
def test_what_it_does_not_take_is_said_and_not_offered(tile, sentence):
    spec = replace(FPROP, b=replace(FPROP.b, tile=tile))
    assert sentence in lacking(spec)
    plan = replace(plan_built_in(FPROP, (16, 4096, 4096), HOPPER, Accumulation.RECIPE), spec=spec)
    tries = coarse(plan, (16, 4096, 4096), HOPPER)
    assert not [b for b in tries if b.schedule is Schedule.SPECIALIZED and b.decoded]


@pytest.mark.parametrize("m", [16, 32, 64, 128, 256])
def test_the_table_has_it_for_few_tokens(m):
    assert lacking(FPROP) == ""
    plan = plan_gemm(FPROP, (m, 14336, 4096), HOPPER, Accumulation.RECIPE)
    assert plan.decodes_in_registers


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("mnk", [(20, 256, 320), (20, 256, 40), (200, 256, 320)], ids=str)
def test_the_launcher_gives_the_kernel_what_its_signature_names(monkeypatch, mnk, accumulate):
    from kernels import decoding_kernel

    names = decoding_kernel.decoding_gemm_kernel.arg_names
    said = {}

    class Recorded:
        def __getitem__(self, grid):
            return lambda *arguments, **constants: said.update(grid=grid, at=arguments, constants=constants)

    monkeypatch.setattr(decoding_kernel, "decoding_gemm_kernel", Recorded())
    m, n, k = mnk
    a, b = operands(mnk, HOPPER if torch.cuda.is_available() else INTERPRETER)
    values = dequantize(a, current_device().kind, paired=True)
    monkeypatch.setattr(kernels.gemm, "dequantize", lambda *_, paired: values if paired else None)
    spec = WGRAD if accumulate else FPROP
    out = torch.zeros(m, n, dtype=torch_dtype(spec.out), device=values.device)
    for plan in decoding(mnk, spec=spec)[1]:
        launch(a, b, plan, out, mnk, accumulate, DeviceKind.GPU)
        given = dict(zip(names, said["at"], strict=False))
        assert set(names) - set(given) == {name for name in said["constants"] if name.isupper()}
        assert said["grid"] == (2,)
        assert said["constants"]["ACCUMULATE"] == accumulate
        assert said["constants"]["RUNS"] == (plan.blocks.split_k if k > plan.block_k else 1)
        assert given["a_desc"].base is values
        assert given["a_desc"].block_shape == [plan.block_m, 64]
        assert (given["b_desc"].base.dtype, given["b_desc"].block_shape) == (torch.uint8, [128, 64])
        assert given["out_desc"].block_shape == list(out_box(plan.block_m))
        assert (given["m"], given["n"], given["k"], given["b_mn_tiles"]) == (m, n, k, n)


@pytest.mark.gpu
@pytest.mark.parametrize("matmul", MATMULS)
@pytest.mark.parametrize("shape", SHAPES)
def test_it_gives_the_simple_kernel_s_bits(shape, matmul):
    mnk, device = SHAPES[shape], current_device()
    spec = RECIPES["mxfp8"].spec(MATMULS[matmul])
    simple, plans = decoding(mnk, device, spec)
    a, b = operands(mnk, device, matmul)
    for plan in plans:
        cut = replace(simple.blocks, split_k=plan.blocks.split_k, persistent=False, block_k=plan.block_k)
        truth = gemm(a, b, replace(simple, blocks=cut))
        first = torch.full_like(truth, torch.nan)
        gemm(a, b, plan, out=first)
        assert torch.equal(first.view(torch.int8), truth.view(torch.int8)), plan.title
        again = [gemm(a, b, plan, out=torch.full_like(truth, torch.nan)) for _ in range(100)]
        assert all(torch.equal(out.view(torch.int8), truth.view(torch.int8)) for out in again)


@pytest.mark.gpu
@pytest.mark.parametrize("m", [20, 100, 300])
def test_it_adds_into_d(m):
    mnk, device = (m, 264, 1000), current_device()
    a, b = operands(mnk, device, "wgrad")
    start = torch.randn(m, 264, device="cuda")
    for plan in decoding(mnk, device, WGRAD)[1]:
        added = gemm(a, b, plan, out=start.clone(), accumulate=True)
        assert torch.equal(added, gemm(a, b, plan) + start), plan.title


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["nan", "inf", "zeros", "wide", "tiny", "large"])
def test_special_values_are_decoded_as_the_pass_does(name):
    mnk = (16, 256, 512)
    a, b, _ = problem(RECIPES["mxfp8"], MATMULS["fprop"], mnk, name)
    simple, plans = decoding(mnk, current_device())
    cut = replace(simple.blocks, persistent=False, split_k=1)
    truth = gemm(a, b, replace(simple, blocks=cut))
    out = gemm(a, b, plans[0])
    assert torch.equal(out.isnan(), truth.isnan())
    assert torch.equal(out.nan_to_num(7.0), truth.nan_to_num(7.0))


@pytest.mark.gpu
def test_d_may_have_any_strides():
    mnk, device = (20, 264, 1000), current_device()
    a, b = operands(mnk, device)
    for plan in decoding(mnk, device)[1]:
        truth = gemm(a, b, plan)
        wide = torch.zeros(20, 265, dtype=torch.bfloat16, device="cuda")
        for out in (wide[:, 1:], torch.zeros_like(truth.T).T, truth.new_zeros(264, 20).T):
            assert torch.equal(gemm(a, b, plan, out=out), truth)
