"""Contract: a code waits for all numbers whose amax decides its scale, and a tensor is read twice where no
program holds them.
"""

import pytest

from fp8core.linear import MATMULS, OPERANDS, LayerShape, LayerTensor, Side
from fp8core.reach import Home, Reach, joined, reach
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE
from kernels.quantize.facts import MOST_ELEMENTS
from kernels.quantize.plan import plan_quantize

LAYER = LayerShape(tokens=4096, in_=4096, out=14336)
COPIES = [
    pytest.param(copy, id=f"{name}-{tensor.value}-{place}")
    for name, recipe in RECIPES.items()
    for tensor in OPERANDS
    for place, copy in enumerate(recipe.quantized_copies(tensor))
]


def of_x(name: str) -> list[Reach]:
    return [reach(copy.operand) for copy in RECIPES[name].quantized_copies(LayerTensor.X)]


@pytest.mark.parametrize("copy", COPIES)
def test_the_kernel_reads_a_tensor_as_often_as_its_reach_says(copy):
    shape = LAYER.of(copy.tensor)
    plan = plan_quantize(copy.spec, *copy.operand.stored(shape))
    assert reach(copy.operand).reads(shape, MOST_ELEMENTS) == plan.reads(copy.spec)


def test_a_code_waits_for_its_tile_and_for_the_tile_around_it():
    assert of_x("deepseek_v3") == [Reach(rows=1, columns=128), Reach(rows=128, columns=1)]
    assert {one.home for one in of_x("nvfp4")} == {Home.TENSOR}
    assert [one.home for one in of_x("rowwise")] == [Home.LINE] * 2
    assert of_x("per_tensor_delayed") == [Reach(rows=1, columns=1, earlier=True)]


def test_a_copy_of_a_copy_waits_for_the_tiles_of_both():
    operand = RECIPES["deepseek_v3_pow2"].operand(MATMULS["wgrad"], Side.B)
    assert operand.tile == (128, 1)
    assert reach(operand) == Reach(rows=128, columns=128)


def test_a_rotated_run_is_seen_as_a_whole():
    (needed_numbers,) = of_x("mxfp4_train")
    assert needed_numbers == Reach(rows=64, columns=1)


def test_two_copies_in_one_pass_wait_for_the_tiles_of_both():
    assert joined(of_x("deepseek_v3")) == Reach(rows=128, columns=128)
    assert joined(of_x("rowwise")).home is Home.TENSOR
    assert joined(of_x("per_tensor_delayed")).home is Home.EARLIER
    with pytest.raises(ValueError, match="at least one"):
        joined([])


def test_a_long_row_is_read_twice_and_a_short_one_once():
    row = Reach(rows=1, columns=WHOLE)
    assert row.reads((4096, MOST_ELEMENTS), MOST_ELEMENTS) == 1
    assert row.reads((4096, MOST_ELEMENTS + 1), MOST_ELEMENTS) == 2
    assert Reach(rows=128, columns=128).numbers((16, 40)) == 16 * 40


def test_a_program_with_whole_rows_has_the_amax_of_a_row_and_of_no_column():
    row, column, square = (Reach(rows=r, columns=c) for r, c in ((1, WHOLE), (WHOLE, 1), (128, 128)))
    assert row.lies_in(1, WHOLE)
    assert not column.lies_in(1, WHOLE)
    assert not square.lies_in(1, WHOLE)
    assert square.lies_in(128, 128)
