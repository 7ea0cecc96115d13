"""Contract: the kernel that decodes one operand in registers gives the bits of the simple kernel with the
same splits of K; the pass before it moves numbers within 16 along K; it offers only what it can run.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fp8core.linear import MATMULS, Side
from fp8core.packing import unpack
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE, TileShape
from kernels.device import HOPPER, current_device
from kernels.gemm.blocks import Variant
from kernels.gemm.choose import tries
from kernels.gemm.hopper.blocks import decoding_refusal, lacking_to_decode
from kernels.gemm.hopper.decoding.blocks import values_order
from kernels.gemm.hopper.descriptors import aligned
from kernels.gemm.hopper.sizes import TMA_BYTES
from kernels.gemm.launch import factor, gemm
from kernels.gemm.numerics import Summation
from kernels.gemm.passes.decode import read_as
from kernels.gemm.passes.dequantize import dequantize, laid_out
from kernels.gemm.plan import plan_built_in
from tests.kernels import from_reference
from tests.kernels.cases import GEMMS
from tests.sweeps import some_values

FPROP, WGRAD = RECIPES["mxfp8"].fprop, RECIPES["mxfp8"].wgrad


def decoding(mnk, device=HOPPER, spec=FPROP):
    """(the simple plan, the plans that decode in registers) of a GEMM."""
    plan = plan_built_in(spec, mnk, device, Summation.RECIPE)
    candidates = tries(Variant.DECODING, plan.numerics, mnk, device)
    return plan, [replace(plan, blocks=blocks) for blocks in candidates]


def runnable(mnk, device, spec=FPROP):
    """What `decoding` gives, of a GEMM that is not refused on the device."""
    plan, plans = decoding(mnk, device, spec)
    assert not (reason := lacking_to_decode(plan.numerics, mnk, device)), reason
    return plan, plans


def operands(mnk, matmul="fprop", recipe="mxfp8", name="gaussian"):
    """A and B as the reference quantizes them."""
    return from_reference.operands(RECIPES[recipe], MATMULS[matmul], mnk, name)


SHAPES = {
    "one step": (16, 128, 64),
    "one row": (1, 144, 96),
    "odd": (20, 272, 1000),
    "odd steps": (33, 528, 4164),
    "many columns of one row": (9, 17040, 1000),
    "half a block": (100, 1008, 4100),
    "rows": (200, 2064, 1664),
    "waves": (256, 20480, 640),
    "many rows": (1300, 4112, 1100),
    "few columns": (208, 24, 1000),
    "more rows": (4112, 136, 2052),
    "many columns": (4112, 1304, 1100),
    "odd rows": (1321, 1312, 1100),
    "odd rows of codes": (1321, 304, 1100),
}


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


@pytest.mark.parametrize("k", [1, 32, 160])
def test_tma_can_start_at_each_row_of_scales(k):
    """A descriptor of rows needs it of a single row, too."""
    plan = plan_built_in(FPROP, (20, 300, k), HOPPER, Summation.RECIPE)
    _, b = operands((20, 300, k))
    lines = aligned(factor(b, plan, current_device().kind, Side.B).line_scale)
    assert lines.shape == (-(-k // 32), 300)
    assert lines.stride(0) % TMA_BYTES == 0


@pytest.mark.parametrize("recipe", [name.split("-")[0] for name in GEMMS if name.endswith("fprop")])
def test_what_it_decodes_is_laid_out_as_the_kernel_reads_it(recipe):
    """Rows of bytes of codes and of scales: one scale a row, whatever the tile, and no code of 6 bits."""
    (m, n, k), spec = (20, 256, 160), RECIPES[recipe].fprop
    plan = plan_built_in(spec, (m, n, k), HOPPER, Summation.RECIPE)
    blocks = next(tries(Variant.DECODING, plan.numerics, (m, n, k), HOPPER), None)
    if blocks is None:
        return
    assert blocks.decoded == "b"
    plan = replace(plan, blocks=blocks)
    _a, b = operands((m, n, k), recipe=recipe)
    operand = factor(b, plan, current_device().kind, Side.B)
    read = read_as(spec.b)
    assert operand.matrix.dtype == torch.uint8
    assert operand.matrix.shape == (n, 256 * read.format.packed_bits // 8)
    scale = operand.line_scale
    assert scale.dtype == torch.uint8
    assert scale.shape == (-(-k // spec.b.tile.k), n)
    assert scale.stride(1) == 1
    assert scale.stride(0) % TMA_BYTES == 0
    numbers = spec.b.scale_rule.format.decode(scale.cpu().numpy()).repeat(spec.b.tile.k, axis=0)[:k].T
    codes = unpack(operand.matrix.cpu().numpy(), read.format.packed_bits, 256)[:, :k]
    exact = b.exact_operand(0, n).cpu().numpy()
    outer = 1.0 if b.outer_scale is None else b.outer_scale.double().item()
    np.testing.assert_array_equal(read.format.decode(codes) * numbers * outer, exact)
    assert values_order(plan.numerics, blocks) == read.format.packed_bits


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
    numerics = plan_built_in(FPROP, (16, 4096, 4096), HOPPER, Summation.RECIPE).numerics
    both, one = (replace(numerics, spec=replace(FPROP, a=a, b=other)) for a in (other, FPROP.a))
    assert sentence.format("B") in decoding_refusal(both)
    assert not list(tries(Variant.DECODING, both, (16, 4096, 4096), HOPPER))
    if tile.k is not WHOLE:
        assert decoding_refusal(one) == "", "the other operand is decoded then"
        assert not list(tries(Variant.DECODING, one, (16, 4096, 4096), HOPPER)), "unless it has few rows"
        assert {blocks.decoded for blocks in tries(Variant.DECODING, one, (512, 4096, 4096), HOPPER)} == {"a"}
