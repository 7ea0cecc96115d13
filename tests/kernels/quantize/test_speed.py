"""Contract: on a GPU, a quantizer that reads along rows moves its bytes at 0.8 of a copy's speed or more.

Those that do more for each element (rotation, random bits, a search, a table) are timed without a bound.

`pytest tests/kernels/quantize/test_speed.py -s` prints a line for each operand.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from statistics import median

import pytest
import torch

from fp8core.recipes import Recipe
from kernels.device import DeviceKind
from kernels.quantize import quantize
from kernels.quantize.plan import plan_quantize, quantize_constants
from tests.kernels.cases import OPERANDS
from tests.sweeps import distinct

SHAPE = (16384, 8192)
ROUNDS, EACH = 15, 4
GOAL = 0.8
ALONG_ROWS = distinct(OPERANDS, lambda *case: Recipe.operand(*case).spec)
"""One operand of each spec; here K runs along the rows of all of them."""


def milliseconds(run: Callable[[], object]) -> float:
    """The median of a launch, by events around a few of them."""
    times = []
    for _ in range(ROUNDS):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(EACH):
            run()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) / EACH)
    return median(times)


@pytest.mark.gpu
@pytest.mark.parametrize(("recipe", "matmul", "side"), ALONG_ROWS.values(), ids=ALONG_ROWS)
def test_rows_are_quantized_at_the_speed_of_memory(recipe, matmul, side):
    operand = replace(recipe.operand(matmul, side), k_is_rows=False)
    spec, rule = operand.spec, operand.spec.scale_rule
    x = torch.randn(SHAPE, device="cuda").bfloat16()
    seed = 1 if spec.is_random else None
    history = torch.full((2,), 4.0, device="cuda") if rule.history else None
    own = quantize(x, operand, seed=seed, history=history)
    plan = plan_quantize(spec, *SHAPE)
    one_pass = rule.history > 0 or (plan.fused and not rule.has_fitted_outer)
    moved = (1 if one_pass else 2) * x.nbytes + own.operand_bytes.nbytes + own.scale.nbytes
    target = torch.empty_like(x)
    copied = 2 * x.nbytes / milliseconds(lambda: torch.neg(x, out=target))
    speed = moved / milliseconds(lambda: quantize(x, operand, seed=seed, history=history))
    ways = quantize_constants(spec, plan, DeviceKind.GPU)
    told = f"{speed / copied:.2f} of a copy: {spec.format.name} {spec.tile}, {ways['ELEMENT'].encode_by}"
    sys.stdout.write(told + "\n")
    simple = spec.rotation is None and spec.saved_as is None and len(rule.search) == 1
    if simple and ways["ELEMENT"].encode_by not in ("random bits", "table"):
        assert speed > GOAL * copied
