"""Tensors that the fused kernels are tested with, and their references' results."""

import numpy as np
import torch

from fp8core import fused as reference
from tests.kernels.cases import WHERE

EPS = 1e-6


def bf16(shape, seed=0, spread=3.0):
    """bfloat16 normal numbers on the tests' device."""
    dice = np.random.default_rng(seed)
    return torch.from_numpy((spread * dice.standard_normal(shape)).astype(np.float32)).bfloat16().to(WHERE)


def numbers(x: torch.Tensor) -> np.ndarray:
    """float32."""
    return x.float().cpu().numpy()


def broken(x: torch.Tensor) -> torch.Tensor:
    """x with NaN, infinities and large numbers here and there."""
    flat = x.view(-1)
    for start, number in enumerate((torch.nan, torch.inf, -torch.inf, -200.0, 3e38)):
        flat[start * 7 :: 997] = number
    return x


def swiglu(rows, inner, change=lambda x: x):
    """(what the kernel takes, the reference's result)."""
    gate_up = change(bf16((rows, 2 * inner)))
    return (gate_up,), reference.swiglu(numbers(gate_up))


def swiglu_backward(rows, inner, change=lambda x: x):
    dh, gate_up = bf16((rows, inner), 1), change(bf16((rows, 2 * inner)))
    return (dh, gate_up), reference.swiglu_backward(numbers(dh), numbers(gate_up))


def rms_norm(rows, columns, change=lambda x: x):
    x, weight = change(bf16((rows, columns))), bf16((columns,), 1)
    return (x, weight), reference.rms_norm(numbers(x), numbers(weight), EPS)
