"""A matmul by the reference's rules: fp8core quantizes, and exact numbers are multiplied in fp64.

It needs no GPU and no Triton, and takes every recipe. Its results differ from the kernels' in the sum alone:
here it is exact up to fp64, there it is the tensor core's.
"""

from collections.abc import Sequence

import numpy as np
import torch

from fp8core.philox import random_bits
from fp8core.quantize import quantize
from fp8core.recipes import Operand


def emulated_copy(
    x: torch.Tensor, operand: Operand, seed: int | None, history: torch.Tensor | None
) -> torch.Tensor:
    """float64[mn, K], on x's device: the numbers that the codes and scales of x stand for."""
    stored = _as_numpy(x)
    random = None
    if seed is not None:
        bits = random_bits(operand.stored(stored.shape), seed)
        random = np.ascontiguousarray(bits.T) if operand.k_is_rows else bits
    steps = None if history is None else _as_numpy(history)
    with np.errstate(all="ignore"):
        values = quantize(stored, operand, random=random, history=steps).exact_values()
    return torch.from_numpy(np.ascontiguousarray(values.T if operand.k_is_rows else values)).to(x.device)


def amax_of(x: torch.Tensor) -> torch.Tensor:
    """float32[1]: the largest |x|; 0 of an empty tensor."""
    return x.detach().abs().amax().float().view(1) if x.numel() else x.new_zeros(1, dtype=torch.float32)


def emulated_product(a: Sequence[torch.Tensor], b: Sequence[torch.Tensor], out: torch.dtype) -> torch.Tensor:
    """D[M, N]: the exact product of [M, K] and [N, K], rounded to fp32 and then to `out`."""
    return (a[0].double() @ b[0].double().T).float().to(out)


def _as_numpy(x: torch.Tensor) -> np.ndarray:
    """float32, the numbers of x: bf16 and fp16 are exact in it."""
    return x.detach().float().cpu().numpy()
