"""Contract: each way to encode gives the codes of fp8core.formats, for every format and rounding."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from fp8core.formats import FORMATS, FloatFormat
from fp8core.philox import philox
from fp8core.quantize import RANDOM_BITS
from fp8core.rounding import Rounding
from kernels.device import DeviceKind, current_device, launch_context
from kernels.quantize.facts import MXINT8, code_table, element_facts
from tests.kernels.cases import WHERE
from tests.sweeps import label

CODES = tuple(format_ for format_ in FORMATS.values() if format_.bits in (4, 6, 8) and format_.signed)
ROUNDINGS = tuple(rounding for rounding in Rounding if rounding is not Rounding.STOCHASTIC)
BITS = [(format_, rounding, DeviceKind.INTERPRETER) for format_ in CODES for rounding in ROUNDINGS]
CASTS = [(FORMATS[name], Rounding.NEAREST_EVEN, DeviceKind.GPU) for name in ("e4m3", "e5m2", "e3m2", "e2m3")]
RANDOM = tuple(each for each in CODES if isinstance(each, FloatFormat) or each == MXINT8)
DRAWS = 1 << RANDOM_BITS
BLOCK = 1 << 12


def named(case: tuple) -> str:
    return f"{label(case[0])}-{case[1].name}"


def patterns(format_) -> np.ndarray:
    """float32: one bf16 number in three, and every code, tie between codes and limit with its neighbors."""
    every = (np.arange(0, 1 << 16, 3, dtype=np.uint32) << 16).view(np.float32)
    values = format_.values
    codes = np.unique(np.abs(values[np.isfinite(values)])).astype(np.float32)
    ties = (codes[1:] + codes[:-1]) / 2
    beyond = np.float32(format_.max) * np.array([1, 1.03, 1.04, 1.07, 1.2, 2], np.float32)
    marks = np.concatenate([codes, ties, beyond, [np.float32(np.inf)]])
    near = [np.nextafter(marks, np.float32(side)) for side in (-np.inf, np.inf)]
    marks = np.concatenate([marks, *near])
    x = np.concatenate([every, marks, -marks])
    return x[~np.isnan(x)]


@pytest.mark.parametrize(
    ("format_", "rounding", "kind"),
    [pytest.param(*case, id=named(case)) for case in BITS]
    + [pytest.param(*case, id=f"{named(case)}-cast", marks=pytest.mark.gpu) for case in CASTS],
)
def test_numbers_become_the_codes_of_the_format(format_, rounding, kind):
    x, facts, table = patterns(format_), element_facts(format_, rounding, kind), None
    if facts.encode_by == "table":
        table = code_table(format_, rounding)
    np.testing.assert_array_equal(encoded(x, facts, table=table), format_.encode(x, rounding))


def encoded(x, facts, random=None, table=None) -> np.ndarray:
    """uint8[x.size]: the kernel's codes."""
    from kernels.quantize.kernel import encode_kernel

    tensors = [None if each is None else torch.from_numpy(each).to(WHERE) for each in (x, random, table)]
    codes = torch.empty(x.size, dtype=torch.uint8, device=WHERE)
    with launch_context(codes):
        encode_kernel[(-(-x.size // BLOCK),)](
            tensors[0], codes, tensors[1], tensors[2], x.size, ELEMENT=facts, BLOCK=BLOCK
        )
    return codes.cpu().numpy()


@pytest.mark.parametrize("format_", RANDOM, ids=label)
def test_all_random_bits_give_the_references_codes_and_signs_of_zero(format_):
    rng = np.random.default_rng(0)
    sizes = np.array([0.0, 1e-45, 1e-30, *(format_.min_subnormal * np.array([2**-9, 0.01, 0.5, 0.99, 1]))])
    sizes = np.concatenate([sizes, [format_.max], format_.max * np.exp2(rng.uniform(-12, 0.5, 48))])
    x = np.concatenate([sizes, -sizes]).astype(np.float32).repeat(DRAWS)
    random = np.tile(np.arange(DRAWS, dtype=np.uint8), 2 * sizes.size)
    facts = element_facts(format_, Rounding.STOCHASTIC, current_device().kind)
    truth = format_.encode(x, Rounding.STOCHASTIC, noise=random / DRAWS)
    np.testing.assert_array_equal(encoded(x, facts, random), truth)


COUNT = 64


@triton.jit
def draw(words_ptr, counters_ptr, seed, N: tl.constexpr):
    at = tl.arange(0, N)
    w0, w1, w2, w3 = tl.randint4x(seed, tl.load(counters_ptr + at))
    tl.store(words_ptr + at * 4, w0.to(tl.int32, bitcast=True))
    tl.store(words_ptr + at * 4 + 1, w1.to(tl.int32, bitcast=True))
    tl.store(words_ptr + at * 4 + 2, w2.to(tl.int32, bitcast=True))
    tl.store(words_ptr + at * 4 + 3, w3.to(tl.int32, bitcast=True))


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 + 5, 2**63 - 1])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_words_are_those_of_triton(seed, dtype) -> None:
    top = torch.iinfo(dtype).max
    counters = np.random.default_rng(0).integers(0, top, COUNT, endpoint=True)
    counters[:3] = 0, 1, top
    words = torch.empty(COUNT, 4, dtype=torch.int32, device=WHERE)
    draw[(1,)](words, torch.tensor(counters, dtype=dtype, device=WHERE), seed, COUNT)
    np.testing.assert_array_equal(words.cpu().numpy().view(np.uint32), philox(seed, counters))
