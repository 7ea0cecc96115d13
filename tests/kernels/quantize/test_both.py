"""Contract: `quantize_both` gives the bits of two calls of `quantize`, in one launch where blocks allow it;
programs that meet give the bits of a pass before.
"""

from dataclasses import replace
from itertools import product

import pytest
import torch

from fp8core.tiles import TileShape
from kernels.device import current_device
from kernels.quantize import launch, quantize, quantize_both
from kernels.quantize.plan import cooperative_programs, plan_both
from kernels.quantize.quantize import LAUNCHES
from tests.kernels.cases import ON_GPU, WHERE, sample
from tests.kernels.quantize.same_bits import PAIRS, SHARED, assert_equal, assert_repeats, pair
from tests.sweeps import some_cases

KINDS = ("gaussian", "nan", "wide", "inf")
SHAPES = ((30, 70), (130, 260), (1, 130), (129, 33), (0, 64))


@pytest.mark.parametrize(
    ("number", "named"),
    some_cases(1 if ON_GPU else 3, dict(zip(PAIRS, enumerate(PAIRS.values()), strict=True))),
)
def test_both_have_the_bits_of_two_calls(number, named):
    operands = pair(*named)
    kind, shape = KINDS[number % len(KINDS)], SHAPES[number % len(SHAPES)]
    x = torch.from_numpy(sample(kind, shape)).to(WHERE)
    x = x.T.contiguous().T if number % 3 == 1 else x
    seeds = [5 + place if each.spec.is_random else None for place, each in enumerate(operands)]
    history = torch.tensor([2.0, 1.0], device=WHERE) if operands[0].spec.scale_rule.history else None
    copies = quantize_both(x, *operands, seeds=seeds, history=history)
    for own, operand, seed in zip(copies, operands, seeds, strict=True):
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
        copies = quantize_both(x, *operands, seeds=seeds, history=history)
        for own, operand, seed in zip(copies, operands, seeds, strict=True):
            assert_equal(own, quantize(x, operand, seed=seed, history=history))


@pytest.mark.parametrize("named", PAIRS.values(), ids=PAIRS)
def test_one_launch_writes_both_where_codes_are_cast_and_no_line_is_read_before(named):
    along, down = pair(*named)
    plan = plan_both(along.spec, down.spec, 4096, 7168)
    assert (plan is not None) == ("-".join(named) in SHARED)


def test_x_without_neighbors_in_memory_gives_the_bits_of_two_calls(monkeypatch):
    """It is read twice: Triton 3.6 does not find the largest of numbers that it would load in patches."""
    monkeypatch.setattr(launch, "plan_both", None)
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

    def memory(calls: int) -> tuple[int, int]:
        for _ in range(calls):
            quantize_both(x, *operands, history=history)
            quantize(x, operands[0], history=history)
        torch.cuda.synchronize()
        return torch.cuda.memory_allocated(), torch.cuda.memory_reserved()

    assert memory(10) == memory(1000)


# One program, as in the interpreter, has nothing to find with others in a scale of its own amax alone.
MEET = (
    *(pytest.param(name, marks=pytest.mark.gpu) for name in ("per_tensor-x", "per_tensor-dy")),
    *("per_tensor_delayed-x", "nvfp4-w", "nvfp4_1x16-w"),
)
ODD, EVEN = ((130, 260), (16, 7168)), ((256, 768), (1536, 256), (64, 128), (96, 1040))
"""Shapes of x. Kernels store 128 bits at once only where rows are multiples of 16 long."""
MET_SHAPES = (*ODD, *EVEN) if ON_GPU else ((30, 70), (60, 30))
TYPES = (torch.bfloat16, torch.float32, torch.float16) if ON_GPU else (torch.bfloat16,)


@pytest.fixture
def alone(monkeypatch):
    """Lets programs meet, or not: launches are cached by what was asked, and that is none of it."""

    def meet(on):
        monkeypatch.undo()
        if not on:
            monkeypatch.setattr(launch, "cooperative_programs", lambda device: 0)
        LAUNCHES.clear()

    yield meet
    monkeypatch.undo()
    LAUNCHES.clear()


@pytest.mark.parametrize("name", MEET)
def test_those_that_meet_find_what_a_pass_finds(alone, name):
    operands = pair(*PAIRS[name])
    delayed = operands[0].spec.scale_rule.history
    history = torch.tensor([2.0, 1.0], device=WHERE) if delayed else None

    def run():
        copies = []
        for shape, dtype in product(MET_SHAPES, TYPES):
            x = torch.from_numpy(sample("wide" if shape in EVEN else "nan", shape)).to(WHERE, dtype)
            copies += [quantize(x, operand, history=history) for operand in operands]
            copies += quantize_both(x, *operands, history=history)
        return copies

    alone(False)
    expected = run()
    alone(True)
    specs = [operand.spec for operand in operands]
    programs = cooperative_programs(current_device())
    assert sum(plan_both(*specs, *shape, programs=programs).cooperative for shape in MET_SHAPES) >= 2
    for one, other in zip(run(), expected, strict=True):
        assert_equal(one, other)


@pytest.mark.gpu
def test_programs_meet_over_and_over_and_in_a_graph(alone):
    operand = pair(*PAIRS["per_tensor-x"])[0]
    xs = [torch.randn(256, 7168, device="cuda").bfloat16() for _ in range(4)]
    alone(False)
    expected = [quantize(x, operand) for x in xs]
    alone(True)
    assert_repeats(lambda: [quantize(x, operand) for x in xs], expected, 1000)
