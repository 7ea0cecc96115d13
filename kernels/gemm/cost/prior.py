"""What the constants are believed to be before anything was measured. Pure; no torch.

A variant with few measurements stays near its prior. The numbers are an H200's, from what its units can do at
most; they are rough.
"""

from kernels.gemm.blocks import Body
from kernels.gemm.cost.constants import Of, Rate, Shared
from kernels.gemm.cost.variant import Variant

_FP8_PRODUCTS_A_NS = 6500.0
"""A tensor core's, with FP8 codes; half as many with bf16."""
_EFFICIENCY = {
    Body.CHAINED.value: 0.85,
    Body.CHAINED_SHARED.value: 0.82,
    Body.PROMOTED.value: 0.75,
    Body.PROMOTED_LENT.value: 0.8,
    Body.PROMOTED_THREE.value: 0.8,
    Body.PROMOTED_FEW_ROWS.value: 0.6,
    Body.NARROW.value: 0.6,
    Body.DECODING.value: 0.75,
    Body.SIMPLE.value: 0.75,
}
_FIXED_NS_A_NUMBER = 0.05
_SMALL = 1 << 14
"""Elements of D in a block under which the tensor core waits for operands."""

SHARED = Shared(
    dram_gb_s=4200.0,
    idle=0.2,
    write_cost=1.2,
    page_bytes=300.0,
    l2_gb_s=8000.0,
    sm_gb_s=160.0,
    zero_row_ns=1.0,
    latency_ns=1200.0,
    pass_us=2.5,
    pass_4_gb_s=2500.0,
    pass_6_gb_s=1500.0,
    pass_8_gb_s=3500.0,
    pass_16_gb_s=3000.0,
    sharpness=4.0,
    heat=0.15,
)
BODY = Of(launch_us=3.5, alone=1.2, split_us=1.0, run_us=0.1, split_gb_s=80.0, again_us=1.5, uneven_us=2.5)


def rate_of(variant: Variant) -> Rate:
    """The rate of a variant, from its body and the size of its blocks."""
    efficiency = _EFFICIENCY.get(variant.body, 0.5)
    area = variant.block_m * variant.block_n
    efficiency *= min(1.0, (area / _SMALL) ** 0.5)
    if variant.sums != "chained" and variant.multiplied == "fp8" and variant.body == Body.SIMPLE.value:
        efficiency *= 0.7
    if variant.decoded and variant.body == Body.SIMPLE.value:
        efficiency *= 0.5
    rate = _FP8_PRODUCTS_A_NS * efficiency / (2 if variant.multiplied == "bf16" else 1)
    return Rate(variant=variant, step_ns=variant.products / rate, fixed_ns=300 + area * _FIXED_NS_A_NUMBER)
