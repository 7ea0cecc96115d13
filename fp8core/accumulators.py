"""How a tensor core adds: fraction bits kept, products fused in one step, and when partial sums are promoted.

Sources: MMA-Sim (arXiv 2511.10909) and Khattak & Mikaitis (arXiv 2512.07004) for Hopper; DeepSeek-V3
(arXiv 2412.19437, section 3.3.2) for promotion every 128.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fp8core.formats import FORMATS
from fp8core.tiles import WHOLE, Extent

_FP32_HALF_ULP = 2.0 ** -(FORMATS["fp32"].mantissa_bits + 1)


@dataclass(frozen=True, kw_only=True)
class Accumulator:
    """One step aligns `fused_products` products and the running sum to the largest of them, keeps
    `fraction_bits` below it and adds; after `promotion` products (WHOLE: never) the sum is added to an fp32
    register by an ordinary fp32 addition and the chain restarts from zero.
    """

    name: str
    title: str
    fraction_bits: int
    fused_products: int
    promotion: Extent

    def error_bound(self, a: NDArray[np.floating], b: NDArray[np.floating]) -> NDArray[np.float64]:
        """float64[M, N]: what |computed - exact| of a[M, K] · b[N, K]ᵀ cannot exceed in this accumulator.

        A step of p products and c, the largest of magnitude t: each of the p + 1 terms loses less than
        2**-F · t' to the alignment and the sum less than 2**-F of itself, F the fraction bits and t' <= 8 t
        for subnormal codes, whose products are aligned by the exponent their format has, not their own
        (t' = t without them). A promotion adds half an fp32 ulp of the running sum. |c| and the sums are at
        most Σ|a||b| so far, the errors already made included.
        """
        a, b = np.abs(np.asarray(a, np.float64)), np.abs(np.asarray(b, np.float64))
        unit = 2.0**-self.fraction_bits
        size = max(a.shape[1], 1) if self.promotion is WHOLE else self.promotion
        bound = np.zeros((a.shape[0], b.shape[0]))
        total = np.zeros_like(bound)
        for start in range(0, a.shape[1], size):
            chain_bound, chain = np.zeros_like(bound), np.zeros_like(bound)
            for step in range(start, min(start + size, a.shape[1]), self.fused_products):
                stop = min(step + self.fused_products, start + size, a.shape[1])
                left, right = a[:, step:stop], b[:, step:stop]
                largest = np.maximum(
                    _SUBNORMAL_SLACK * (left[:, None] * right[None]).max(2), chain + chain_bound
                )
                chain = chain + left @ right.T
                chain_bound = chain_bound + unit * ((stop - step + 1) * largest + chain + chain_bound)
            total = total + chain
            bound = bound + chain_bound
            if self.promotion is not WHOLE:
                bound = bound + _FP32_HALF_ULP * (total + bound)
        return bound


_SUBNORMAL_SLACK = 8.0

HOPPER_STEP_BITS = 256
"""Bits of each operand's row that one step of a Hopper tensor core takes in: 32 fp8 values, 16 bf16 ones."""

_FP8_STEP = HOPPER_STEP_BITS // FORMATS["e4m3"].bits
_PROMOTION_STEPS = 4

ACCUMULATORS: dict[str, Accumulator] = {
    accumulator.name: accumulator
    for accumulator in (
        Accumulator(
            name="hopper_fast",
            title="fast: one chain in the tensor core",
            fraction_bits=13,
            fused_products=_FP8_STEP,
            promotion=WHOLE,
        ),
        Accumulator(
            name="hopper_promoted",
            title=f"promoted to fp32 every {_PROMOTION_STEPS * _FP8_STEP} products",
            fraction_bits=13,
            fused_products=_FP8_STEP,
            promotion=_PROMOTION_STEPS * _FP8_STEP,
        ),
        Accumulator(
            name="hopper_bf16",
            title="one chain of bf16 products",
            fraction_bits=25,
            fused_products=HOPPER_STEP_BITS // FORMATS["bf16"].bits,
            promotion=WHOLE,
        ),
    )
}
