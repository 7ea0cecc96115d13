"""Contract: a fused kernel gives what quantizing its reference's result gives, bit for bit."""

from functools import partial

import numpy as np
import pytest
import torch

from fp8core import fused
from fp8core import quantize as reference
from fp8core.linear import MATMULS, LayerTensor
from fp8core.recipes import RECIPES, Operand, Recipe
from kernels.measure.quantizer import counted
from kernels.quantize import rms_norm_quantize, swiglu_backward_quantize, swiglu_quantize
from kernels.quantize.plan import QuantizePlan, plan_both, plan_computed, plan_quantize, specs_of
from tests.fp8core.by_hand import stored_bits
from tests.kernels.cases import ON_GPU, WHERE
from tests.kernels.quantize import inputs
from tests.kernels.quantize.same_bits import SEED, assert_same_bits, assert_same_floats
from tests.sweeps import distinct, some_cases

KERNELS = {
    "swiglu": (swiglu_quantize, inputs.swiglu),
    "swiglu_backward": (swiglu_backward_quantize, inputs.swiglu_backward),
    "rms_norm": (partial(rms_norm_quantize, eps=inputs.EPS), inputs.rms_norm),
}
SHAPES = ((33, 256), (20, 70), (1, 130), (20, 1), (0, 64)) + (((2048, 1024), (300, 4100)) if ON_GPU else ())
"""(rows, columns of the result, or of each half)."""
COPIED = ((33, 128), (20, 70)) + (((300, 1160), (512, 2048)) if ON_GPU else ())


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("change", [lambda x: x, inputs.broken], ids=["sound", "broken"])
def test_without_an_operand_it_is_the_reference_in_bf16(kernel, change):
    run, draw = KERNELS[kernel]
    for shape in SHAPES:
        tensors, truth = draw(*shape, change)
        (own,) = run(*tensors, [None])
        assert own.dtype == torch.bfloat16
        assert_same_floats(own, truth)


def test_every_gate_is_the_references():
    """The polynomial, the exponents and the reciprocal, for each bf16 number."""
    every = (
        torch.arange(0, 1 << 16, 1 if ON_GPU else 4, dtype=torch.int32)
        .to(torch.int16)
        .view(torch.bfloat16)
        .to(WHERE)
    )
    gates, ones = every.view(-1, 256), torch.ones_like(every).view(-1, 256)
    gate_up = torch.cat([gates, ones], dim=1)
    assert_same_floats(swiglu_quantize(gate_up, [None])[0], fused.swiglu(inputs.numbers(gate_up)))
    (gradient,) = swiglu_backward_quantize(ones, gate_up, [None])
    assert_same_floats(gradient, fused.swiglu_backward(inputs.numbers(ones), inputs.numbers(gate_up)))


def operands_of(recipe: Recipe, tensor: LayerTensor) -> tuple[Operand | None, ...]:
    """The operands that read a tensor, in the order of matmuls; None for one that stays bf16."""
    sides = [(matmul, matmul.side_of(tensor)) for matmul in MATMULS.values()]
    return tuple(recipe.operand(matmul, side) for matmul, side in sides if side is not None)


PAIRS = distinct(
    {
        f"{name}-{tensor.value}": (recipe, tensor)
        for name, recipe in RECIPES.items()
        for tensor in (LayerTensor.X, LayerTensor.DY)
    },
    operands_of,
)


def assert_copies_are_the_references(kernel, shape, operands, change=lambda x: x, history=None):
    run, draw = KERNELS[kernel]
    tensors, truth = draw(*shape, change)
    seeds = [SEED + number if each and each.spec.is_random else None for number, each in enumerate(operands)]
    there = None if history is None else torch.tensor(history, device=WHERE)
    copies = run(*tensors, operands, seeds=seeds, history=there)
    for own, operand, seed in zip(copies, operands, seeds, strict=True):
        if operand is None:
            assert_same_floats(own, truth)
            continue
        random = stored_bits(operand, truth.shape, seed)
        assert_same_bits(own, reference.quantize(truth, operand, random=random, history=history))
        if operand.spec.scale_rule.history:
            assert own.amax.item() == np.abs(truth).max()


@pytest.mark.parametrize(("recipe", "tensor"), some_cases(8, PAIRS))
def test_both_copies_are_the_references(recipe, tensor):
    kernels = ("swiglu_backward",) if tensor is LayerTensor.DY else ("swiglu", "rms_norm")
    for kernel in kernels:
        for shape in COPIED:
            assert_copies_are_the_references(kernel, shape, operands_of(recipe, tensor))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("recipe", ["deepseek_v3", "mxint8"])
def test_a_broken_number_breaks_its_tiles_alone(kernel, recipe):
    """The codes of one recipe are the hardware's cast, those of the other are stored again."""
    tensor = LayerTensor.DY if kernel == "swiglu_backward" else LayerTensor.X
    assert_copies_are_the_references(kernel, (20, 192), operands_of(RECIPES[recipe], tensor), inputs.broken)


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_copy_alone_and_one_beside_bf16_are_the_same(kernel):
    tensor = LayerTensor.DY if kernel == "swiglu_backward" else LayerTensor.X
    along, down = operands_of(RECIPES["mxfp8"], tensor)
    for operands in ([along], [down], [None, down], [along, None], [down, along]):
        assert_copies_are_the_references(kernel, (20, 64), operands)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("history", [None, [0.0, 0.0], [3.0, 0.5]], ids=["none", "zeros", "known"])
def test_a_delayed_scale_looks_back_and_records_what_it_finds(kernel, history):
    tensor = LayerTensor.DY if kernel == "swiglu_backward" else LayerTensor.X
    operands = operands_of(RECIPES["per_tensor_delayed"], tensor)
    steps = None if history is None else np.array(history, np.float32)
    assert_copies_are_the_references(kernel, (20, 64), operands, history=steps)


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", ["swiglu", "rms_norm"])
def test_a_warp_with_few_rows_finds_the_amax_of_each(kernel):
    """Blocks of few rows as long as those of x: soak of 2026-11-29, RMSNorm of 10 × 800."""
    for shape in ((10, 800), (32, 512), (4, 3860)):
        assert_copies_are_the_references(kernel, shape, operands_of(RECIPES["rowwise"], LayerTensor.X))


def columns_by_bit(plan: QuantizePlan) -> list[bool]:
    """For each bit of a thread's number in its warp, whether it is a column's: Triton gives a load's threads
    to the last dim first, a patch, then to runs of rows, then to further patches.
    """
    along, runs = plan.patch // plan.at_once, plan.rows // plan.thread_rows
    bits = [True] * (along.bit_length() - 1) + [False] * (runs.bit_length() - 1) + [True] * 5
    return bits[:5]


def test_threads_of_a_warp_that_share_a_row_are_neighbors():
    """Triton 3.6 reduces over no others, whatever a block's shape."""
    dice, patches = np.random.default_rng(0), set()
    for recipe, tensor in PAIRS.values():
        specs = specs_of(operands_of(recipe, tensor))
        for _ in range(60):
            rows, columns = (int(size) for size in np.exp2(dice.uniform(0, 13, 2)))
            plans = [plan_computed(*specs, rows, columns, halves=halves) for halves in (1, 2)]
            plans += [plan_both(*specs, rows, columns)] if None not in specs else []
            plans += [plan_quantize(each, columns, rows, side_by_side=False) for each in specs if each]
            for plan in plans:
                if plan is not None and plan.patch:
                    bits = columns_by_bit(plan)
                    patches.add(plan.patch)
                    assert bits == sorted(bits, reverse=True), (recipe.name, rows, columns, plan)
    assert patches >= {32, 64, 128}


def test_one_launch_writes_both_copies_where_scales_are_a_blocks_own():
    """One more finds the amax of a whole tensor."""
    gate_up = inputs.bf16((20, 140))

    def launches(name):
        operands = operands_of(RECIPES[name], LayerTensor.X)
        return counted(lambda: swiglu_quantize(gate_up, operands)).launches

    assert (launches("mxfp8"), launches("per_tensor_delayed")) == (1, 2)


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_may_lie_apart(kernel):
    """Each tensor is a part of a wider one."""
    run, draw = KERNELS[kernel]
    tensors, truth = draw(20, 64)
    apart = [
        torch.cat([each, each], dim=-1)[:, : each.shape[1]] if each.ndim == 2 else each for each in tensors
    ]
    assert_same_floats(run(*apart, [None])[0], truth)


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("recipe", ["deepseek_v3", "per_tensor_delayed", "mxfp4_train", "rowwise"])
def test_warm_calls_give_the_bits_of_their_own_numbers_and_hold_no_memory(kernel, recipe):
    assert ON_GPU
    tensor = LayerTensor.DY if kernel == "swiglu_backward" else LayerTensor.X
    operands = operands_of(RECIPES[recipe], tensor)
    run, draw = KERNELS[kernel]
    assert_copies_are_the_references(kernel, (128, 256), operands)
    for _ in range(3):
        assert_copies_are_the_references(kernel, (128, 256), operands, lambda x: x.mul_(1.5))
    tensors, _ = draw(128, 256)
    seeds = [SEED if each and each.spec.is_random else None for each in operands]
    run(*tensors, operands, seeds=seeds)
    memory = torch.cuda.memory_allocated()
    for _ in range(1000):
        run(*tensors, operands, seeds=seeds)
    assert torch.cuda.memory_allocated() == memory
