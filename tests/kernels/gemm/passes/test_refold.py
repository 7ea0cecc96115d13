"""Contract: the refolding pass equals fp8core.refold bit for bit, codes and scales, and lays them out as the
quantizer does; a refolding plan multiplies what the pass makes, within the bound of the promoted GEMM; its
bytes and its peers are those of the operands as they come.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from fp8core import quantize as reference
from fp8core import refold as reference_refold
from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES, Operand
from fp8core.refold import REFOLDED_TILES
from fp8core.tiles import TileShape
from kernels.device import BLACKWELL, BLACKWELL_RTX, HOPPER, Unsupported
from kernels.gemm import gemm
from kernels.gemm.launch import as_planned
from kernels.gemm.numerics import Summation
from kernels.gemm.passes.refold import refold
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.quantize import quantize
from kernels.quantize.facts import K_PADDING
from kernels.quantize.tensor import QuantizedTensor, float8
from tests.kernels.cases import MNK, ON_GPU, SAMPLES, SHAPES, WHERE, operand, plan_of, sample
from tests.kernels.gemm.exact_product import assert_within_bound, poisoned
from tests.kernels.quantize.same_bits import assert_same_bits
from tests.sweeps import some_pairs

MX = RECIPES["mxfp8"]
CUBE = (4096, 4096, 4096)
BY_MATMUL = {name: (matmul,) for name, matmul in MATMULS.items()}
KINDS = {
    f"{tile}-{format_.name}": (tile, format_)
    for tile in REFOLDED_TILES.values()
    for format_ in (FORMATS["e4m3"], FORMATS["e5m2"])
}
REFOLDED = Summation.REFOLDED


def problem(matmul, mnk, name="gaussian") -> tuple[QuantizedTensor, QuantizedTensor, GemmPlan]:
    a = operand(MX, matmul, Side.A, mnk, name, 1)
    b = operand(MX, matmul, Side.B, mnk, "gaussian" if name in ("nan", "inf") else name, 2)
    return a, b, plan_of(MX, matmul, mnk, REFOLDED)


@pytest.mark.parametrize(("matmul", "name"), some_pairs(BY_MATMUL, SAMPLES, every=8))
def test_codes_and_scales_are_the_references(matmul, name):
    for shape in (*SHAPES, (131, 1000)) if ON_GPU else SHAPES[1 : 4 if name == "gaussian" else 2]:
        for side, tile in product(Side, REFOLDED_TILES.values()):
            x = sample(name, shape)
            operand = MX.operand(matmul, side)
            own = refold(quantize(torch.from_numpy(x).to(WHERE), operand), tile)
            truth = reference_refold.refold(reference.quantize(x, operand), tile)
            assert own.grid == truth.grid
            assert own.spec == truth.spec
            assert own.scale.shape == truth.scale.shape
            assert_same_bits(own, truth)


def quantized_to(codes: np.ndarray, scale: np.ndarray, spec) -> tuple[QuantizedTensor, QuantizedTensor]:
    """The same codes [mn, K] and scales for the kernel, whose rows have zeros behind K, and the reference."""
    operand = Operand(spec=spec, k_is_rows=False)
    mn, k = codes.shape
    padded = torch.zeros((mn, -(-k // K_PADDING) * K_PADDING), dtype=torch.uint8, device=WHERE)
    padded[:, :k] = torch.from_numpy(codes)
    own = QuantizedTensor(
        operand=operand,
        shape=codes.shape,
        codes=padded[:, :k].view(float8(spec.format)),
        scale=torch.from_numpy(np.ascontiguousarray(scale.T)).to(WHERE).T,
    )
    return own, reference.QuantizedTensor(operand=operand, codes=codes, scale=scale)


@pytest.mark.parametrize(("tile", "format_", "tile_k"), some_pairs(KINDS, (16, 32, 64), every=6))
def test_every_code_is_right_at_every_ratio_of_scales(tile, format_, tile_k):
    """All finite codes, each beside a scale that is 2**0 to 2**-254 of the largest."""
    spec = replace(MX.fprop.a, format=format_, tile=TileShape(1, tile_k))
    codes = np.arange(256, dtype=np.uint8)[:, None].repeat(128, 1)
    codes[~np.isfinite(format_.values)] = 0
    tiles = 128 // tile_k
    ratios = [*range(40), 126, 127, 128, 253, 254]
    scale = np.ones((len(ratios), 256, tiles), np.float32)
    scale[..., -1] = 2.0**127
    scale[..., 0] = np.ldexp(2.0**127, -np.array(ratios)).astype(np.float32)[:, None]
    own, truth = quantized_to(np.tile(codes, (len(ratios), 1)), scale.reshape(-1, tiles), spec)
    assert_same_bits(refold(own, tile), reference_refold.refold(truth, tile))


@pytest.mark.parametrize(("matmul", "mnk"), some_pairs(BY_MATMUL, MNK))
def test_d_is_the_exact_product_of_the_refolded_operands_within_the_bound(matmul, mnk):
    a, b, plan = problem(matmul, mnk)
    out = poisoned(plan, *mnk[:2])
    assert gemm(a, b, plan, out=out) is out
    assert_within_bound(out, *as_planned(plan, a, b), plan)


def test_what_is_not_refolded_is_refused_in_a_sentence():
    def refusal(spec, device=HOPPER) -> str:
        plan = plan_gemm(spec, CUBE, device, REFOLDED)
        assert isinstance(plan, Unsupported)
        return plan.reason

    said = {
        "per_tensor": "so these have to be powers of two of one level",
        "deepseek_v3_pow2": "out of those of shorter lines along K",
        "mxfp8_square": "out of those of shorter lines along K",
        "mxfp4": "and A comes as e2m1",
        "nvfp4": "and A comes as e2m1",
        "mxfp4_train": "and A comes as bf16",
    }
    for name, sentence in said.items():
        assert sentence in refusal(RECIPES[name].fprop)
    for device in (BLACKWELL, BLACKWELL_RTX):
        assert refusal(MX.fprop, device) == (
            f"refolding is for GPUs without block-scaled MMA, and {device.name} multiplies these as they are"
        )
