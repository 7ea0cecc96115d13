"""Contract: the kernel that decodes one operand in registers, the larger one, gives the bits of the simple
kernel with the same runs of K.
"""

from dataclasses import replace

import pytest
import torch

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import DeviceKind, current_device
from kernels.gemm.hopper.decoding.blocks import code_rows, runs_each, value_rows
from kernels.gemm.hopper.sizes import CONSUMERS
from kernels.gemm.hopper.storage import wgmma_rows
from kernels.gemm.launch import gemm, launch, torch_dtype
from kernels.operand_passes.dequantize import dequantize
from tests.kernels.gemm.hopper.decoding.plans import FPROP, WGRAD, decoding, operands, runnable
from tests.sweeps import some_values

SHAPES = {
    "one step": (16, 128, 64),
    "one row": (1, 144, 96),
    "odd": (20, 272, 1000),
    "odd steps": (33, 528, 4164),
    "two programs an SM": (9, 17040, 1000),
    "half a block": (100, 1008, 4100),
    "rows": (200, 2064, 1664),
    "waves": (256, 20480, 640),
    "many rows": (1300, 4112, 1100),
    "few columns": (208, 24, 1000),
    "more rows": (4112, 136, 2052),
    "many columns": (4112, 1304, 1100),
    "odd rows": (1321, 1312, 1100),
    "odd rows of codes": (1321, 304, 1100),
    "two wgmma, 96 rows": (90, 1008, 1100),
    "two wgmma, 160 rows": (150, 528, 1664),
    "two wgmma, 192 rows": (180, 1040, 4164),
    "two wgmma, several blocks": (470, 1312, 1100),
}


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize(
    "mnk",
    [
        (20, 256, 320),
        (20, 256, 40),
        (90, 256, 320),
        (180, 256, 320),
        (200, 256, 320),
        (256, 150, 320),
        (256, 24, 320),
        (256, 200, 40),
        (20, 256, 1024),
    ],
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
    a, b = operands(mnk)
    decoded, other, of_a = (a, b, True) if m > n else (b, a, False)
    values = dequantize(other, current_device().kind, order=8)
    passed = []
    monkeypatch.setattr(
        "kernels.gemm.launch.dequantize", lambda operand, *_, **__: passed.append(operand) or values
    )
    spec = WGRAD if accumulate else FPROP
    out = torch.zeros(m, n, dtype=torch_dtype(spec.out), device=values.device)
    for found in decoding(mnk, spec=spec)[1]:
        if found.blocks.decoded == "ab":
            continue
        plan = replace(found, blocks=replace(found.blocks, group=3))
        launch(a, b, plan, out, accumulate, DeviceKind.GPU)
        given = dict(zip(names, said["at"], strict=False))
        assert set(names) - set(given) == {name for name in said["constants"] if name.isupper()}
        each = runs_each(plan.blocks, k)
        blocks = plan.blocks.count(m, n)
        assert said["grid"] == (blocks * plan.blocks.runs(k)[0] // each,)
        shared = given["parts_ptr"] is not None
        assert shared == (said["grid"] != (blocks,)) == (said["constants"]["RUNS"] > each)
        if shared:
            assert given["parts_ptr"].shape == (
                plan.blocks.split_k,
                blocks,
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
        for name, rows in zip(("values_desc", "rest_desc"), wgmma_rows(value_rows(plan.blocks)), strict=True):
            assert given[name].base is values
            assert not rows or given[name].block_shape == [rows, plan.blocks.block_k]
        codes = given["codes_desc"]
        assert (codes.base.dtype, codes.base.shape, codes.block_shape) == (
            torch.uint8,
            decoded.operand_bytes.shape,
            [code_rows(plan.blocks), plan.blocks.block_k],
        )
        assert codes.base.data_ptr() == decoded.codes.data_ptr()
        scale = given["scale_desc"]
        assert scale.base.data_ptr() == decoded.scale.data_ptr()
        box = [plan.blocks.block_k // 32, code_rows(plan.blocks)]
        assert (scale.shape, scale.block_shape) == ([-(-k // 32), 256], box)
        assert (given["a_scale_ptr"].item(), given["b_scale_ptr"].item()) == (1, 1)
        assert given["out_desc"].block_shape == list(plan.storage.out_box)
        assert (given["m"], given["n"], given["k"]) == (m, n, k)


@pytest.mark.gpu
@pytest.mark.parametrize("matmul", MATMULS)
@pytest.mark.parametrize("shape", SHAPES)
def test_it_gives_the_simple_kernel_s_bits(shape, matmul, request):
    mnk, device = SHAPES[shape], current_device()
    spec = RECIPES["mxfp8"].spec(MATMULS[matmul])
    simple, plans = runnable(mnk, device, spec)
    a, b = operands(mnk, matmul)
    for plan in some_values(plans, request):
        cut = replace(
            simple.blocks,
            split_k=plan.blocks.split_k,
            persistent=False,
            block_k=plan.blocks.block_k,
            stages=2,
        )
        truth = gemm(a, b, replace(simple, blocks=cut))
        first = torch.full_like(truth, torch.nan)
        gemm(a, b, plan, out=first)
        assert torch.equal(first.view(torch.int8), truth.view(torch.int8)), plan.title
        again = [gemm(a, b, plan, out=torch.full_like(truth, torch.nan)) for _ in range(100)]
        assert all(torch.equal(out.view(torch.int8), truth.view(torch.int8)) for out in again)


@pytest.mark.gpu
@pytest.mark.parametrize(("m", "n"), [(20, 272), (100, 272), (300, 272), (300, 1312), (272, 24)])
def test_it_adds_into_d(m, n, request):
    mnk, device = (m, n, 1000), current_device()
    a, b = operands(mnk, "wgrad")
    start = torch.randn(m, n, device="cuda")
    for plan in some_values(runnable(mnk, device, WGRAD)[1], request):
        added = gemm(a, b, plan, out=start.clone(), accumulate=True)
        assert torch.equal(added, gemm(a, b, plan) + start), plan.title


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["nan", "inf", "zeros", "wide", "tiny", "large"])
@pytest.mark.parametrize("mnk", [(16, 256, 512), (256, 16, 512)], ids=str)
def test_special_values_are_decoded_as_the_pass_does(name, mnk):
    a, b, _ = (*operands(mnk, name=name), None)
    simple, plans = runnable(mnk, current_device())
    cut = replace(simple.blocks, persistent=False, split_k=1)
    truth = gemm(a, b, replace(simple, blocks=cut))
    out = gemm(a, b, plans[0])
    assert torch.equal(out.isnan(), truth.isnan())
    assert torch.equal(out.nan_to_num(7.0), truth.nan_to_num(7.0))


@pytest.mark.gpu
@pytest.mark.parametrize(("m", "n"), [(20, 272), (272, 24)])
def test_d_may_have_any_strides(m, n, request):
    mnk, device = (m, n, 1000), current_device()
    a, b = operands(mnk)
    for plan in some_values(runnable(mnk, device)[1], request):
        truth = gemm(a, b, plan)
        wide = torch.zeros(m, n + 1, dtype=torch.bfloat16, device="cuda")
        for out in (wide[:, 1:], torch.zeros_like(truth.T).T, truth.new_zeros(n, m).T):
            assert torch.equal(gemm(a, b, plan, out=out), truth)
