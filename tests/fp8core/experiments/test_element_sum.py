"""One element of D is what the whole quantized operands give, in every recipe and matmul."""

import numpy as np
import pytest
from ml_dtypes import bfloat16

from fp8core.experiments.element_sum import MOST, element_sum
from fp8core.inputs import InputKind, draw_operand
from fp8core.linear import MATMULS, Side
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES
from tests.fp8core.by_hand import stored_bits
from tests.sweeps import each, some_pairs

MNK, AT = (96, 160, 128), (70, 131)


@pytest.mark.parametrize(("recipe", "matmul"), some_pairs(each(RECIPES), MATMULS))
def test_a_line_of_an_operand_is_that_of_the_whole_tensor(recipe, matmul):
    element = element_sum(recipe, matmul, MNK, "gaussian", 3, AT)
    plays = MATMULS[matmul]
    layer = plays.layer(*MNK)
    for number, (side, at) in enumerate(zip(Side, AT, strict=True)):
        tensor, operand = plays.operand(side), RECIPES[recipe].operand(plays, side)
        x = draw_operand(InputKind.GAUSSIAN, tensor, layer.of(tensor), 6 + number, fan_in=layer.in_)
        values = x = x.astype(bfloat16).astype(np.float32)
        if operand is not None:
            random = stored_bits(operand, x.shape, 6 + number)
            values = quantize(x, operand, random=random).exact_values()
        line = np.s_[:, at] if plays.k_is_rows(side) else np.s_[at]
        name = side.value.lower()
        assert np.array_equal(getattr(element, name), x[line])
        assert np.array_equal(getattr(element, f"{name}_rounded"), values[line])
    assert element.exact[-1] == pytest.approx(float(np.dot(element.a, element.b)))


def test_too_many_numbers_are_refused():
    with pytest.raises(ValueError, match="at most"):
        element_sum("mxfp8", "fprop", (MOST, 1, 2), "gaussian", 0, (0, 0))
