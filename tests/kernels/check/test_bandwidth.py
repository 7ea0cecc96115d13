"""Contract: on a GPU, a quantizer that reads along rows moves its bytes at 0.8 of a copy's speed or more.

Those that do more for each element (rotation, random bits, a search, a table) are timed without a bound. The
copy and the quantizer take turns, so both have one clock: a GPU that waits for a compiler has a low one.
"""

from dataclasses import replace

import pytest

from fp8core.recipes import Recipe
from kernels.check.bandwidth import beside_a_copy
from kernels.check.names import SHARE_OF_COPY
from kernels.check.probe_machine import Machine
from kernels.check.report import Verdict
from kernels.device import DeviceKind, current_device
from kernels.quantize.constants import quantize_constants
from kernels.quantize.plan import plan_quantize
from tests.kernels.cases import OPERANDS
from tests.sweeps import distinct

SHAPE = (8192, 8192)
GOAL = 0.8
ALONG_ROWS = distinct(OPERANDS, lambda *case: Recipe.operand(*case).spec)
"""One operand of each spec; here K runs along the rows of all of them."""


@pytest.mark.alone
@pytest.mark.gpu
@pytest.mark.parametrize(("recipe", "matmul", "side"), ALONG_ROWS.values(), ids=ALONG_ROWS)
def test_rows_are_quantized_at_the_speed_of_memory(recipe, matmul, side):
    operand = replace(recipe.operand(matmul, side), k_is_rows=False)
    spec = operand.spec
    line = beside_a_copy(recipe.name, operand, current_device(), Machine().uuid(0))
    assert line.verdict is Verdict.PASS, line.detail
    element = quantize_constants(spec, plan_quantize(spec, *SHAPE), DeviceKind.GPU)["OPERAND"].element
    simple = spec.rotation is None and spec.saved_as is None and len(spec.scale_rule.search) == 1
    if simple and not element.is_random and element.encode_by != "table":
        share = next(figure.value for figure in line.figures if figure.name == SHARE_OF_COPY)
        assert share > GOAL, f"{line.detail} {spec.format.name} {spec.tile}, {element.encode_by}"
