"""A recipe's quantizers against the reference, codes and scales bit for bit, on numbers made to be hard."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fp8core import quantize as reference
from fp8core.linear import Matmul, Side
from fp8core.recipes import Operand, Recipe
from kernels.check.report import Figure, Group, Line, Verdict
from kernels.device import Device, DeviceKind
from kernels.quantize import quantize

_MNK = (2032, 2032, 272)
"""No multiples of a tile, multiples of 16 as larger matmuls are: the kernels are compiled once for both."""
_MNK_INTERPRETED = (80, 48, 144)
_SAMPLES = ("wide", "broken")
_SPREAD = 30
_RARE = 997


def sample(name: str, shape: tuple[int, int]) -> NDArray[np.float32]:
    """float32[rows, columns] of bf16 numbers from 2**-30 to 2**30; some columns are zero, some rows
    subnormal.

    The "broken" sample also holds a NaN and an infinity here and there.
    """
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape, dtype=np.float32)
    x *= np.exp2(rng.integers(-_SPREAD, _SPREAD, shape)).astype(np.float32)
    x[:, : shape[1] // 4] = 0
    x[: shape[0] // 4] *= np.float32(2.0**-120)
    if name == "broken":
        x.flat[::_RARE] = np.nan
        x.flat[1 :: 2 * _RARE] = -np.inf
    return (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def compare(operand: Operand, shape: tuple[int, int], name: str, device: Device) -> tuple[int, int, str]:
    """(codes and scales compared, how many differ, the first that does) of one sample."""
    x = sample(name, shape)
    own = quantize(torch.from_numpy(x).to(device.place).bfloat16(), operand)
    truth = reference.quantize(x, operand)
    codes, scale = own.codes.view(torch.uint8).cpu().numpy(), own.scale.cpu().numpy()
    both_nan = np.isnan(scale) & np.isnan(truth.scale)
    bad_scale = (scale.view(np.uint32) != truth.scale.view(np.uint32)) & ~both_nan
    bad_code = codes != truth.codes
    first = ""
    if bad_scale.any():
        i, j = np.argwhere(bad_scale)[0]
        first = f"scale [{i}, {j}] is {truth.scale[i, j]!s}, the kernel says {scale[i, j]!s}"
    elif bad_code.any():
        i, j = np.argwhere(bad_code)[0]
        first = f"code [{i}, {j}] is {truth.codes[i, j]:#04x}, the kernel says {codes[i, j]:#04x}"
    return codes.size + scale.size, int(bad_scale.sum() + bad_code.sum()), first


def check_quantizers(
    recipe: Recipe, matmuls: tuple[Matmul, ...], device: Device, seen: dict[Any, tuple[int, int, str]]
) -> Line:
    """The report line of one recipe: both operands of these matmuls. `seen` holds what recipes share."""
    mnk = _MNK if device.kind is DeviceKind.GPU else _MNK_INTERPRETED
    compared = different = 0
    detail = ""
    for matmul in matmuls:
        for side in Side:
            shape = matmul.layer(*mnk).of(matmul.operand(side))
            for name in _SAMPLES:
                case = (recipe.operand(matmul, side), shape, name)
                if case not in seen:
                    seen[case] = compare(*case, device)
                size, wrong, first = seen[case]
                compared, different = compared + size, different + wrong
                if wrong and not detail:
                    detail = f"{matmul.title}, {side.value}: {first}"
    told = f"{compared:,} codes and scales of {2 * len(matmuls)} operands"
    if different:
        told = f"{different:,} of {told} differ. {detail}."
    else:
        told = f"{told} equal the reference, bit for bit."
    return Line(
        name=recipe.name,
        group=Group.QUANTIZERS,
        verdict=Verdict.FAIL if different else Verdict.PASS,
        detail=told,
        figures=(Figure("compared", float(compared)), Figure("different", float(different))),
    )
