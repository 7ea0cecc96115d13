"""Contract: the random words of the reference are Triton's, for seeds and counters of any size."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from fp8core.philox import philox
from tests.kernels.cases import WHERE

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
