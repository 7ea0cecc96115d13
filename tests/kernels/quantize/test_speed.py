"""Contract: on a GPU, a quantizer that reads along rows moves its bytes at 0.8 of a copy's speed or more.

Those that do more for each element (rotation, random bits, a search, a table) are timed without a bound.
Launches are timed in CUDA graphs, beside a copy: the host's time is none of the kernels'.

`pytest tests/kernels/quantize/test_speed.py -s` prints a line for each operand.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from statistics import median

import pytest
import torch

from fp8core.recipes import Recipe
from kernels.bench.capture import capturing
from kernels.bench.operands import held_bytes, quantized
from kernels.device import DeviceKind
from kernels.quantize.constants import quantize_constants
from kernels.quantize.plan import plan_quantize
from tests.kernels.cases import OPERANDS
from tests.sweeps import distinct

SHAPE = (8192, 8192)
ROUNDS, EACH = 5, 20
WARMING = 100
"""Replays before the first that counts: the clock of a GPU that has waited for a compiler is low."""
GOAL = 0.8
ALONG_ROWS = distinct(OPERANDS, lambda *case: Recipe.operand(*case).spec)
"""One operand of each spec; here K runs along the rows of all of them."""


def milliseconds(runs: list[Callable[[], object]]) -> float:
    """The median of a launch, by events around graphs of many, over tensors that the L2 cannot hold."""
    for run in runs:
        run()
    graph = torch.cuda.CUDAGraph()
    with capturing(graph):
        for number in range(EACH):
            runs[number % len(runs)]()
    for _ in range(WARMING):
        graph.replay()
    times = []
    for _ in range(ROUNDS):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) / EACH)
    return median(times)


@pytest.mark.alone
@pytest.mark.gpu
@pytest.mark.parametrize(("recipe", "matmul", "side"), ALONG_ROWS.values(), ids=ALONG_ROWS)
def test_rows_are_quantized_at_the_speed_of_memory(recipe, matmul, side):
    operand = replace(recipe.operand(matmul, side), k_is_rows=False)
    spec, rule = operand.spec, operand.spec.scale_rule
    xs = [torch.randn(SHAPE, device="cuda").bfloat16() for _ in range(2)]
    history = torch.full((2,), 4.0, device="cuda") if rule.history else None
    plan = plan_quantize(spec, *SHAPE)
    moved = plan.reads(spec) * xs[0].nbytes + held_bytes(quantized(xs[0], operand, 1, history))
    target = torch.empty_like(xs[0])
    copied = 2 * xs[0].nbytes / milliseconds([lambda x=x: torch.neg(x, out=target) for x in xs])
    speed = moved / milliseconds([lambda x=x: quantized(x, operand, 1, history) for x in xs])
    element = quantize_constants(spec, plan, DeviceKind.GPU)["OPERAND"].element
    told = f"{speed / copied:.2f} of a copy: {spec.format.name} {spec.tile}, {element.encode_by}"
    sys.stdout.write(told + "\n")
    simple = spec.rotation is None and spec.saved_as is None and len(rule.search) == 1
    if simple and not element.is_random and element.encode_by != "table":
        assert speed > GOAL * copied
