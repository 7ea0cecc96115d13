"""Every code of an 8-bit format read, and every bf16 number written, by the device against fp8core."""

import numpy as np
import torch
from numpy.typing import NDArray

from fp8core.formats import FloatFormat
from fp8core.rounding import Rounding
from kernels.check.report import Figure, Group, Line, Verdict
from kernels.device import Device, launching
from kernels.launching.launch import launch
from kernels.quantize.facts import element_facts
from kernels.quantize.tensor import float8

_BLOCK = 1 << 12


def bf16_numbers() -> NDArray[np.float32]:
    """float32: every bf16 number but the NaNs; the quantizer handles NaN before its cast."""
    every = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    return every[~np.isnan(every)]


def decoded(format_: FloatFormat, device: Device) -> NDArray[np.float64]:
    """float64[codes]: the value that the device reads from each code."""
    codes = torch.arange(1 << format_.bits, dtype=torch.int32).to(torch.uint8).to(device.place)
    return codes.view(float8(format_)).float().double().cpu().numpy()


def encoded(format_: FloatFormat, x: NDArray[np.float32], device: Device) -> NDArray[np.uint8]:
    """uint8[x.size]: the codes that the quantizer's cast gives, nearest even, saturating."""
    from kernels.quantize.kernel import encode_kernel

    numbers = torch.from_numpy(x).to(device.place)
    codes = torch.empty(x.size, dtype=torch.uint8, device=numbers.device)
    facts = element_facts(format_, Rounding.NEAREST_EVEN, device.kind)
    with launching(codes):
        grid = (-(-x.size // _BLOCK),)
        launch(encode_kernel, grid, numbers, codes, None, None, x.size, ELEMENT=facts, BLOCK=_BLOCK)
    return codes.cpu().numpy()


def check_casts(format_: FloatFormat, device: Device) -> Line:
    """The report line of one format."""
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
    return Line(
        name=format_.name,
        group=Group.CASTS,
        verdict=Verdict.FAIL if wrong else Verdict.PASS,
        detail=detail,
        figures=(Figure("compared", float(read.size + x.size)), Figure("different", float(wrong))),
    )
