"""Rows of a table of plans that nobody measured."""

from fp8core.recipes import RECIPES
from kernels.device import HOPPER
from kernels.gemm.blocks import Blocks, Variant
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import plan_simple
from kernels.gemm.tuned import Measurement, Tuned, shape_class

MEASUREMENT = Measurement(gpu="NVIDIA H200", date="2026-11-20", versions={"triton": "3.6.0"})
SPEC = RECIPES["per_tensor"].fprop
MNK = (64, 14336, 4096)
SPLIT = Blocks(block_m=64, block_n=64, block_k=128, warps=4, stages=5, split_k=4)
FAST = Blocks(
    variant=Variant.CHAINED, block_m=128, block_n=256, block_k=128, warps=4, stages=4, persistent=True
)


def row(blocks: Blocks, median_us: float, mnk=MNK, spec=SPEC) -> Tuned:
    family = plan_simple(spec, mnk, HOPPER, Summation.RECIPE).numerics.family
    shape = shape_class(mnk, HOPPER.sms)
    return Tuned(
        family=family, shape=shape, mnk=mnk, blocks=blocks, median_us=median_us, measurement=MEASUREMENT
    )
