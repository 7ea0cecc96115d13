"""What it means that a kernel quantizes as the reference does."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from fp8core import quantize as reference
from fp8core.linear import LayerTensor
from fp8core.packing import pack
from fp8core.recipes import RECIPES, Operand
from kernels.layer.plan import readings
from kernels.quantize import QuantizedTensor, quantize
from kernels.quantize.facts import K_PADDING
from tests.fp8core.by_hand import stored_bits
from tests.kernels.cases import WHERE
from tests.sweeps import distinct

SEED = 7 << 33


def both(
    x: np.ndarray, operand: Operand, history: np.ndarray | None = None
) -> tuple[QuantizedTensor, reference.QuantizedTensor]:
    """float32 x quantized by the kernel and by the reference, with the same random bits."""
    random = stored_bits(operand, x.shape, SEED)
    steps = None if history is None else torch.from_numpy(history).to(WHERE)
    seed = SEED if operand.spec.is_random else None
    own = quantize(torch.from_numpy(x).to(WHERE), operand, seed=seed, history=steps)
    return own, reference.quantize(x, operand, random=random, history=history)


def assert_same_bits(own: QuantizedTensor, truth: reference.QuantizedTensor) -> None:
    """Equal codes, packed, with zeros behind them; equal scales of each level."""
    codes = truth.codes.T if truth.operand.k_is_rows else truth.codes
    padded = np.zeros((codes.shape[0], -(-codes.shape[1] // K_PADDING) * K_PADDING), np.uint8)
    padded[:, : codes.shape[1]] = codes
    np.testing.assert_array_equal(own.unpacked_codes().cpu().numpy(), truth.codes)
    if padded.size:
        stored = own.operand_bytes.cpu().numpy()
        np.testing.assert_array_equal(stored, pack(padded, own.spec.format.packed_bits))
    assert own.scale.shape == truth.scale.shape
    rule = own.spec.scale_rule
    if own.scale.dtype == torch.uint8:
        assert rule.format.bits == 8
        np.testing.assert_array_equal(own.scale.cpu().numpy(), truth.scale_codes())
    assert_same_floats(own.scale_values, truth.scale)
    assert (own.outer_scale is None) == (truth.outer_scale is None)
    if truth.outer_scale is not None:
        assert_same_floats(own.outer_scale, truth.outer_scale)


def assert_same_floats(own: torch.Tensor, truth: np.ndarray) -> None:
    """Equal bits, but for those of a NaN."""
    numbers = own.float().contiguous().cpu().numpy()
    np.testing.assert_array_equal(np.isnan(numbers), np.isnan(truth))
    sound = ~np.isnan(numbers)
    np.testing.assert_array_equal(numbers[sound].view(np.int32), truth[sound].view(np.int32))


Copies = Sequence[QuantizedTensor]
NAMES = ("x", "w", "dy")


def pair(recipe: str, tensor: str) -> tuple[Operand, ...]:
    both = readings(RECIPES[recipe], LayerTensor(tensor))
    return tuple(each.operand for each in both if each.operand is not None)


PAIRS = distinct(
    {
        f"{name}-{tensor}": (name, tensor)
        for name in RECIPES
        for tensor in NAMES
        if len(pair(name, tensor)) == 2
    },
    pair,
)
"""By "recipe-tensor": both operands of a tensor, where they differ from those before."""
SHARED = {
    *(f"{name}-{tensor}" for name in ("per_tensor", "per_tensor_delayed") for tensor in ("x", "dy")),
    *("deepseek_v3-x", "deepseek_v3-w", "deepseek_v3_pow2-x", "deepseek_v3_pow2-w", "deepseek_v3_pow2-dy"),
    *("mxfp8-x", "mxfp8_floor-x", "mxfp8_square-w", "mxfp4-x", "nvfp4-w", "nvfp4_1x16-w"),
}
"""Pairs that one launch writes. Lines of rowwise wait for an amax each; other codes take many steps."""


def bits(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous().view(torch.uint8 if x.element_size() == 1 else torch.int32)


def assert_equal(own: QuantizedTensor, truth: QuantizedTensor) -> None:
    assert own.operand == truth.operand
    assert own.shape == truth.shape
    assert torch.equal(own.operand_bytes, truth.operand_bytes)
    for name in ("scale", "outer_scale", "amax"):
        part, expected = getattr(own, name), getattr(truth, name)
        assert (part is None) == (expected is None)
        if part is not None:
            assert part.shape == expected.shape
            assert torch.equal(bits(part), bits(expected))


def assert_repeats(run: Callable[[], Copies], expected: Copies, times: int) -> None:
    """Warm calls and replays of a graph, by turns, give these bits."""
    run()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = run()
    for _ in range(times):
        graph.replay()
        for own, truth in zip(run(), expected, strict=True):
            assert_equal(own, truth)
    for own, truth in zip(captured, expected, strict=True):
        assert_equal(own, truth)
