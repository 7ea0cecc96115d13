"""A recipe's quantizers against the reference, codes and scales bit for bit, on numbers made to be hard."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fp8core import quantize as reference
from fp8core.linear import Matmul, Side
from fp8core.philox import random_bits
from fp8core.recipes import Operand, Recipe
from kernels.bench.operands import quantized
from kernels.check.compiling.codes import QuantizerCode
from kernels.check.report import Figure, Group, Line, Verdict
from kernels.device import Device, DeviceKind
from kernels.quantize import QuantizedTensor

_MNK = (2032, 2032, 272)
"""No multiples of a tile, multiples of 16 as larger matmuls are: the kernels are compiled once for both."""
_MNK_INTERPRETED = (80, 48, 144)
SAMPLES = ("wide", "broken")
_SPREAD = 30
_RARE = 997
_SEED, _STEPS = 0, 3


def sample(name: str, shape: tuple[int, int], seed: int = 0) -> NDArray[np.float32]:
    """float32[rows, columns] of bf16 numbers from 2**-30 to 2**30; some columns are zero, some rows
    subnormal.

    The "broken" sample also holds a NaN and an infinity here and there.
    """
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape, dtype=np.float32)
    x *= np.exp2(rng.integers(-_SPREAD, _SPREAD, shape)).astype(np.float32)
    x[:, : shape[1] // 4] = 0
    x[: shape[0] // 4] *= np.float32(2.0**-120)
    if name == "broken":
        x.flat[::_RARE] = np.nan
        x.flat[1 :: 2 * _RARE] = -np.inf
    return (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def compare(
    operand: Operand, shape: tuple[int, int], name: str, device: Device, seed: int = _SEED
) -> tuple[int, int, str]:
    """(codes and scales compared, how many differ, the first that does) of one sample.

    Where the scale is delayed, its history has the sample's own amax, half of it and none.
    """
    x = sample(name, shape, seed)
    own, truth = _both(x, operand, device, seed)
    codes, true_codes = own.unpacked_codes().cpu().numpy(), truth.codes
    parts = [("code", codes, true_codes, codes != true_codes)]
    for level, found, right in (
        ("scale", own.scale_values, truth.scale),
        ("outer scale", own.outer_scale, truth.outer_scale),
    ):
        if right is not None:
            scale = found.contiguous().cpu().numpy()
            both_nan = np.isnan(scale) & np.isnan(right)
            parts.insert(
                -1, (level, scale, right, (scale.view(np.uint32) != right.view(np.uint32)) & ~both_nan)
            )
    first = ""
    for level, found, right, bad in parts:
        if bad.any() and not first:
            i, j = np.argwhere(bad)[0]
            first = f"{level} [{i}, {j}] is {right[i, j]!s}, the kernel says {found[i, j]!s}"
    return sum(bad.size for *_, bad in parts), int(sum(bad.sum() for *_, bad in parts)), first


def _both(
    x: NDArray[np.float32], operand: Operand, device: Device, seed: int
) -> tuple[QuantizedTensor, reference.QuantizedTensor]:
    """x by the kernel and by the reference, with the same random bits and the same history."""
    spec = operand.spec
    random = history = None
    if spec.is_random:
        bits = random_bits(operand.stored((x.shape[0], x.shape[1])), seed)
        random = np.ascontiguousarray(bits.T) if operand.k_is_rows else bits
    if spec.scale_rule.history:
        amax = np.abs(x, where=np.isfinite(x), out=np.zeros_like(x)).max(initial=0.0)
        history = np.array([amax / 2, amax, 0], np.float32)
        assert history.size == _STEPS, "a kernel is compiled for the steps of its history"
    there = None if history is None else torch.from_numpy(history).to(device.place)
    own = quantized(torch.from_numpy(x).to(device.place).bfloat16(), operand, seed, there)
    return own, reference.quantize(x, operand, random=random, history=history)


def check_quantizers(
    recipe: Recipe, matmuls: tuple[Matmul, ...], device: Device, seen: dict[Any, tuple[int, int, str]]
) -> Line:
    """The report line of one recipe: both operands of these matmuls. `seen` holds what recipes share."""
    compared = different = operands = 0
    detail = ""
    for where, operand, shape in _operands(recipe, matmuls, device):
        operands += 1
        for name in SAMPLES:
            case = (operand, shape, name)
            if case not in seen:
                seen[case] = compare(*case, device)
            size, wrong, first = seen[case]
            compared, different = compared + size, different + wrong
            if wrong and not detail:
                detail = f"{where}: {first}"
    return quantizer_line(recipe.name, compared, different, f"{operands} operands", detail)


def quantizer_codes(recipe: Recipe, matmuls: tuple[Matmul, ...], device: Device) -> Iterator[QuantizerCode]:
    """The quantizers that `check_quantizers` launches."""
    for _, operand, shape in _operands(recipe, matmuls, device):
        yield QuantizerCode(operand=operand, shape=shape, seed=_SEED, steps=_STEPS)


def _operands(
    recipe: Recipe, matmuls: tuple[Matmul, ...], device: Device
) -> Iterator[tuple[str, Operand, tuple[int, int]]]:
    """The quantized operands of these matmuls: where each is, and the stored shape to compare."""
    mnk = _MNK if device.kind is DeviceKind.GPU else _MNK_INTERPRETED
    for matmul, side in product(matmuls, Side):
        operand = recipe.operand(matmul, side)
        if operand is not None:
            yield f"{matmul.title}, {side.value}", operand, matmul.layer(*mnk).of(matmul.operand(side))


def quantizer_line(name: str, compared: int, different: int, of: str, detail: str) -> Line:
    """The report line of what was compared, `of` so many things; `detail` says what differs first."""
    told = f"{compared:,} codes and scales of {of}"
    if different:
        told = f"{different:,} of {told} differ. {detail}."
    else:
        told = f"{told} equal the reference, bit for bit."
    return Line(
        name=name,
        group=Group.QUANTIZERS,
        verdict=Verdict.FAIL if different else Verdict.PASS,
        detail=told,
        figures=(Figure("compared", float(compared)), Figure("different", float(different))),
    )
