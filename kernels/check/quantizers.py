"""Casts and quantizers against the reference, bit for bit.

Casts: every code of an 8-bit format read, every bf16 number written. Quantizers: numbers made to be hard.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fp8core.formats import FloatFormat
from fp8core.linear import Matmul, Side
from fp8core.quantize import QuantizedTensor, quantize, random_of
from fp8core.recipes import Operand, Recipe
from fp8core.rounding import Rounding
from kernels.check.report import Group, Line
from kernels.check.steps import checked_mnk
from kernels.device import Device, current_device, launch_context
from kernels.launching.launch import launch
from kernels.measure.operands import quantized
from kernels.precompile import Code
from kernels.quantize.facts import element_facts
from kernels.quantize.tensor import float8

SAMPLES = ("wide", "broken")
_SPREAD = 30
_RARE = 997
_SEED, _STEPS = 0, 3
_CASTS = 1 << 12
_THREADS = 8

Shape = tuple[int, int]


def bf16_numbers() -> NDArray[np.float32]:
    """float32: every bf16 number but the NaNs, which the quantizer handles before its cast."""
    every = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    return every[~np.isnan(every)]


def decoded(format_: FloatFormat, device: Device) -> NDArray[np.float64]:
    """float64[codes]: the values that the device reads from all codes."""
    codes = torch.arange(1 << format_.bits, dtype=torch.int32).to(torch.uint8).to(device.place)
    return codes.view(float8(format_)).float().double().cpu().numpy()


def encoded(format_: FloatFormat, x: NDArray[np.float32], device: Device) -> NDArray[np.uint8]:
    """uint8[x.size]: codes of the quantizer's cast, nearest even, saturating."""
    from kernels.quantize.kernel import encode_kernel

    numbers = torch.from_numpy(x).to(device.place)
    codes = torch.empty(x.size, dtype=torch.uint8, device=numbers.device)
    facts = element_facts(format_, Rounding.NEAREST_EVEN, device.kind)
    with launch_context(codes):
        grid = (-(-x.size // _CASTS),)
        launch(encode_kernel, grid, numbers, codes, None, None, x.size, ELEMENT=facts, BLOCK=_CASTS)
    return codes.cpu().numpy()


def launch_cast(format_: FloatFormat) -> None:
    encoded(format_, bf16_numbers(), current_device())


def launch_quantizer(operand: Operand, shape: Shape, seed: int, steps: int) -> None:
    """Launch the quantizer of a bf16 tensor, on zeros. A delayed scale has a history of `steps`."""
    x = torch.zeros(shape, dtype=torch.bfloat16, device=current_device().place)
    quantized(x, operand, seed, torch.zeros(steps, device=x.device))


def check_casts(format_: FloatFormat, device: Device) -> Line:
    truth, read = format_.decode(np.arange(1 << format_.bits)), decoded(format_, device)
    x = bf16_numbers()
    written = encoded(format_, x, device)
    misread = ~((read == truth) | (np.isnan(read) & np.isnan(truth)))
    miswritten = written != format_.encode(x)
    detail = f"The GPU reads all {read.size} codes and writes {x.size:,} bf16 numbers as fp8core does."
    if misread.any():
        code = int(np.argmax(misread))
        detail = f"{misread.sum()} codes are misread; {code:#04x} is {truth[code]!s}, read {read[code]!s}."
    elif miswritten.any():
        at = int(np.argmax(miswritten))
        right = int(format_.encode(x[at : at + 1])[0])
        pair = f"{x[at]!s} is {right:#04x}, the device says {written[at]:#04x}"
        detail = f"{miswritten.sum():,} numbers get another code; {pair}."
    wrong = int(misread.sum() + miswritten.sum())
    return Line.of_comparison(Group.CASTS, format_.name, detail, read.size + x.size, wrong)


@lru_cache(maxsize=8)
def sample(name: str, shape: Shape) -> NDArray[np.float32]:
    """float32[rows, columns] of bf16 numbers from 2**-30 to 2**30; some columns are zero, some rows
    subnormal.

    The "broken" sample also holds NaN and infinity here and there.
    """
    rng = np.random.default_rng(_SEED)
    x = rng.standard_normal(shape, dtype=np.float32)
    x *= np.exp2(rng.integers(-_SPREAD, _SPREAD, shape)).astype(np.float32)
    x[:, : shape[1] // 4] = 0
    x[: shape[0] // 4] *= np.float32(2.0**-120)
    if name == "broken":
        x.flat[::_RARE] = np.nan
        x.flat[1 :: 2 * _RARE] = -np.inf
    return (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def compare(
    operand: Operand, shape: Shape, name: str, device: Device, truth: QuantizedTensor | None = None
) -> tuple[int, int, str]:
    """(codes and scales compared, how many differ, the first that does) of one sample."""
    x, truth = sample(name, shape), truth or truth_of(operand, shape, name)
    history = _history(x, operand)
    history_tensor = None if history is None else torch.from_numpy(history).to(device.place)
    own = quantized(torch.from_numpy(x).to(device.place).bfloat16(), operand, _SEED, history_tensor)
    parts = [
        ("scale", own.scale_values, truth.scale),
        ("outer scale", own.outer_scale, truth.outer_scale),
        ("code", own.unpacked_codes(), truth.codes),
    ]
    compared = different = 0
    first = ""
    for part, tensor, right in parts:
        if right is None:
            continue
        got = tensor.contiguous().cpu().numpy()
        bad = got != right
        if part != "code":
            bad = (got.view(np.uint32) != right.view(np.uint32)) & ~(np.isnan(got) & np.isnan(right))
        compared, different = compared + bad.size, different + int(bad.sum())
        if bad.any() and not first:
            i, j = np.argwhere(bad)[0]
            first = f"{part} [{i}, {j}] is {right[i, j]!s}, the kernel says {got[i, j]!s}"
    return compared, different, first


def truth_of(operand: Operand, shape: Shape, name: str) -> QuantizedTensor:
    x = sample(name, shape)
    return quantize(x, operand, random=random_of(operand, shape, _SEED), history=_history(x, operand))


def _history(x: NDArray[np.float32], operand: Operand) -> NDArray[np.float32] | None:
    """float32[_STEPS] of a delayed scale: the sample's own amax, half of it, and zero."""
    if not operand.spec.scale_rule.history:
        return None
    amax = np.abs(x, where=np.isfinite(x), out=np.zeros_like(x)).max(initial=0.0)
    history = np.array([amax / 2, amax, 0], np.float32)
    assert history.size == _STEPS, "a kernel is compiled for the steps of its history"
    return history


def check_quantizers(
    recipe: Recipe, matmuls: tuple[Matmul, ...], known: dict[Any, tuple[int, int, str]], device: Device
) -> Line:
    """The line of one recipe. `known`: comparisons that recipes share. Threads quantize by the reference."""
    operands = [*_operands(recipe, matmuls, device)]
    cases = [(where, (*operand, name)) for (where, *operand), name in product(operands, SAMPLES)]
    new = [case for case in dict.fromkeys(case for _, case in cases) if case not in known]
    for _, shape, name in new:
        sample(name, shape)
    with ThreadPoolExecutor(_THREADS) as pool:
        for case, truth in zip(new, pool.map(lambda case: truth_of(*case), new), strict=True):
            known[case] = compare(*case, device, truth=truth)
    compared, different = (sum(known[case][part] for _, case in cases) for part in (0, 1))
    detail = next((f"{where}: {known[case][2]}" for where, case in cases if known[case][1]), "")
    words = f"{compared:,} codes and scales of {len(operands)} operands"
    equal = f"{words} equal the reference, bit for bit."
    detail = f"{different:,} of {words} differ. {detail}." if different else equal
    return Line.of_comparison(Group.QUANTIZERS, recipe.name, detail, compared, different)


def quantizer_codes(recipe: Recipe, matmuls: tuple[Matmul, ...], device: Device) -> Iterator[Code]:
    for _, operand, shape in _operands(recipe, matmuls, device):
        yield launch_quantizer, operand, shape, _SEED, _STEPS


def _operands(
    recipe: Recipe, matmuls: tuple[Matmul, ...], device: Device
) -> Iterator[tuple[str, Operand, Shape]]:
    mnk = checked_mnk(device)
    for matmul, side in product(matmuls, Side):
        operand = recipe.operand(matmul, side)
        if operand is not None:
            yield f"{matmul.title}, {side.value}", operand, matmul.layer(*mnk).of(matmul.operand(side))
