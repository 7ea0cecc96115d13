"""Contract: `quantize_both` gives the bits of two calls of `quantize`, over the operands that a layer reads
of one tensor, whatever its shape, strides and numbers; one launch writes both wherever blocks allow it.
"""

from dataclasses import replace
from itertools import product

import pytest
import torch

from fp8core.tiles import TileShape
from kernels.quantize import both, quantize, quantize_both
from kernels.quantize.both_plan import plan_both
from tests.kernels.cases import WHERE, sample
from tests.kernels.quantize.same_bits import PAIRS, SHARED, assert_equal, pair

KINDS = ("gaussian", "nan", "wide", "inf")
SHAPES = ((30, 70), (130, 260), (1, 130), (129, 33), (0, 64))


@pytest.mark.parametrize(("number", "named"), list(enumerate(PAIRS.values())), ids=PAIRS)
def test_both_have_the_bits_of_two_calls(number, named):
    operands = pair(*named)
    kind, shape = KINDS[number % len(KINDS)], SHAPES[number % len(SHAPES)]
    x = torch.from_numpy(sample(kind, shape)).to(WHERE)
    x = x.T.contiguous().T if number % 3 == 1 else x
    seeds = [5 + place if each.spec.is_random else None for place, each in enumerate(operands)]
    history = torch.tensor([2.0, 1.0], device=WHERE) if operands[0].spec.scale_rule.history else None
    made = quantize_both(x, *operands, seeds=seeds, history=history)
    for own, operand, seed in zip(made, operands, seeds, strict=True):
        assert_equal(own, quantize(x, operand, seed=seed, history=history))


@pytest.mark.gpu
@pytest.mark.parametrize("named", PAIRS.values(), ids=PAIRS)
def test_both_have_the_bits_of_two_calls_where_rows_lie_at_multiples_of_16(named):
    """128 bits are loaded and stored at once there, and nowhere else; programs meet over small x."""
    operands = pair(*named)
    seeds = [5 + place if each.spec.is_random else None for place, each in enumerate(operands)]
    history = torch.zeros(2, device=WHERE) if operands[0].spec.scale_rule.history else None
    for shape, dtype in product(((256, 768), (768, 256), (2048, 4096)), (torch.bfloat16, torch.float32)):
        x = torch.from_numpy(sample("wide", shape)).to(WHERE, dtype)
        made = quantize_both(x, *operands, seeds=seeds, history=history)
        for own, operand, seed in zip(made, operands, seeds, strict=True):
            assert_equal(own, quantize(x, operand, seed=seed, history=history))


@pytest.mark.parametrize("named", PAIRS.values(), ids=PAIRS)
def test_one_launch_writes_both_where_codes_are_cast_and_no_line_is_read_before(named):
    along, down = pair(*named)
    made = plan_both(along.spec, down.spec, 4096, 7168)
    assert (made is not None) == ("-".join(named) in SHARED)


def test_x_without_neighbors_in_memory_gives_the_bits_of_two_calls(monkeypatch):
    """It is read twice: Triton 3.6 does not find the largest of numbers that it would load in patches."""
    monkeypatch.setattr(both, "_launch", None)
    operands = pair("deepseek_v3", "x")
    x = torch.from_numpy(sample("gaussian", (90, 210))).to(WHERE, torch.bfloat16)[::2, ::3]
    for own, operand in zip(quantize_both(x, *operands), operands, strict=True):
        assert_equal(own, quantize(x.contiguous(), operand))


def test_operands_in_the_other_order_or_of_one_direction_are_quantized_too():
    x = torch.from_numpy(sample("gaussian", (40, 50))).to(WHERE)
    first, second = pair("mxfp8", "x")
    for one, other in ((second, first), (first, first)):
        for own, operand in zip(quantize_both(x, one, other), (one, other), strict=True):
            assert_equal(own, quantize(x, operand))


def test_a_tile_that_fits_no_block_takes_launches_of_its_own():
    first, second = pair("deepseek_v3", "x")
    large = replace(second, spec=replace(second.spec, saved_as=replace(first.spec, tile=TileShape(3, 5))))
    assert plan_both(first.spec, large.spec, 256, 256) is None
    x = torch.from_numpy(sample("gaussian", (40, 50))).to(WHERE)
    assert_equal(quantize_both(x, first, large)[1], quantize(x, large))


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["per_tensor", "per_tensor_delayed", "rowwise", "mxfp8", "nvfp4"])
def test_a_thousand_calls_take_no_more_memory_than_ten(name):
    x, operands = torch.randn(256, 512, device="cuda").bfloat16(), pair(name, "w")
    history = torch.ones(2, device="cuda") if operands[0].spec.scale_rule.history else None

    def held(calls: int) -> tuple[int, int]:
        for _ in range(calls):
            quantize_both(x, *operands, history=history)
            quantize(x, operands[0], history=history)
        torch.cuda.synchronize()
        return torch.cuda.memory_allocated(), torch.cuda.memory_reserved()

    assert held(10) == held(1000)
