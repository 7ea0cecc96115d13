"""Contract: what is written in strips has the bits that the kernels write which mask what lies outside."""

from dataclasses import replace
from itertools import product

import pytest
import torch

from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES
from kernels.device import ADA, BLACKWELL, HOPPER, INTERPRETER, current_device
from kernels.quantize import (
    launch,
    quantize,
    quantize_both,
    rms_norm_quantize,
    swiglu_backward_quantize,
    swiglu_quantize,
)
from kernels.quantize.quantize import LAUNCHES
from kernels.quantize.strips import panel_rows, takes_strips
from tests.kernels.cases import WHERE, sample
from tests.kernels.quantize import inputs
from tests.kernels.quantize.same_bits import PAIRS, assert_equal, assert_repeats, pair

EVEN = (256, 384)
TAKEN = {
    name: operands
    for name, operands in ((name, pair(*named)) for name, named in PAIRS.items())
    if takes_strips("swiglu", *(each.spec for each in operands), *EVEN, HOPPER)
}
"""Pairs of operands that are written in strips."""
SHAPES = ((128, 128), EVEN, (1024, 640), (1, 128), (77, 256), (300, 512))


def test_uneven_columns_and_other_devices_are_left_to_other_kernels():
    specs = [each.spec for each in pair("deepseek_v3", "x")]
    for rows, columns in ((128, 127), (0, 128), (128, 0), (128, 192)):
        assert not takes_strips("swiglu", *specs, rows, columns, HOPPER)
    for device in (ADA, BLACKWELL, INTERPRETER):
        assert not takes_strips("", *specs, *EVEN, device)


@pytest.fixture
def without(monkeypatch):
    """What makes calls take strips, or not."""

    def choose(on):
        monkeypatch.undo()
        if not on:
            for name in ("takes_strips", "panel_rows"):
                monkeypatch.setattr(launch, name, lambda *given: 0)
        LAUNCHES.clear()

    yield choose
    monkeypatch.undo()
    LAUNCHES.clear()


def compared(without, run):
    """What `run` gives in strips has the bits of what it gives without them."""
    device = current_device()
    assert device.capability == HOPPER.capability, f"strips are for Hopper, and this is {device.name}"
    without(False)
    expected = run()
    without(True)
    for one, other in zip(run(), expected, strict=True):
        assert_equal(one, other)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["gaussian", "wide", "huge", "zeros", "nan"])
@pytest.mark.parametrize("name", TAKEN)
def test_a_tensor_has_the_bits_of_two_calls(name, kind):
    for shape in SHAPES:
        x = torch.from_numpy(sample(kind, shape)).to(WHERE, torch.bfloat16)
        for tensor in (x, x.T, torch.cat([x, x], 1)[:, : shape[1]]):
            for own, operand in zip(quantize_both(tensor, *TAKEN[name]), TAKEN[name], strict=True):
                assert_equal(own, quantize(tensor, operand))


@pytest.mark.gpu
@pytest.mark.parametrize("name", TAKEN)
def test_what_is_computed_has_the_bits_of_the_other_kernel(without, name):
    def run():
        copies = []
        for (rows, columns), change in product(SHAPES, (lambda x: x, inputs.broken)):
            gate_up, dh = change(inputs.bf16((rows, 2 * columns))), inputs.bf16((rows, columns), 1)
            copies += swiglu_quantize(gate_up, TAKEN[name])
            copies += swiglu_backward_quantize(dh, gate_up, TAKEN[name])
            x, weight = change(inputs.bf16((rows, columns))), inputs.bf16((columns,), 2)
            for each in (weight, weight.float()):
                copies += rms_norm_quantize(x, each, TAKEN[name], eps=inputs.EPS)
        return copies

    compared(without, run)


def test_lines_down_whole_columns_are_written_by_panels():
    """As many programs as SMs share a panel at most, so that they run at once."""
    spec = RECIPES["rowwise"].operand(MATMULS["wgrad"], Side.B).spec
    assert panel_rows(spec, 8192, 8192, HOPPER) == panel_rows(spec, 64, 512, HOPPER) == 512
    assert panel_rows(spec, 64, 256, HOPPER) == panel_rows(spec, 64, 768, HOPPER) == 256
    for mn, k in ((64, 128), (96, 512), (0, 512), (64, 0), (64, 512 * (HOPPER.sms + 1))):
        assert not panel_rows(spec, mn, k, HOPPER)
    for device in (ADA, BLACKWELL, INTERPRETER):
        assert not panel_rows(spec, 64, 512, device)
    for name in ("deepseek_v3", "per_tensor", "nvfp4"):
        assert not panel_rows(RECIPES[name].operand(MATMULS["wgrad"], Side.B).spec, 512, 512, HOPPER)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["gaussian", "wide", "tiny", "huge", "zeros", "nan", "inf"])
def test_panels_have_the_bits_of_the_other_kernel(without, kind):
    operands = [RECIPES["rowwise"].operand(MATMULS["wgrad"], side) for side in Side]

    def run():
        copies = []
        for shape in ((256, 64), (512, 192), (1536, 128), (4096, 1024)):
            x = torch.from_numpy(sample(kind, shape)).to(WHERE, torch.bfloat16)
            copies += [quantize(x, each) for each in operands if each.k_is_rows]
            copies += [quantize(x.T, replace(each, k_is_rows=False)) for each in operands if each.k_is_rows]
        return copies

    compared(without, run)


@pytest.mark.gpu
@pytest.mark.parametrize("name", TAKEN)
def test_a_copy_down_columns_has_the_bits_of_the_other_kernel(without, name):
    """Blocks are narrow, and rows may lie apart, by an odd number of loads."""
    operands = [TAKEN[name][1]]

    def run():
        copies = []
        for (rows, columns), change in product((*SHAPES, (200, 64), (1, 192)), (lambda x: x, inputs.broken)):
            gate_up, dh = change(inputs.bf16((rows, 2 * columns))), inputs.bf16((rows, columns), 1)
            apart = torch.cat([gate_up, gate_up[:, :8]], 1)[:, : 2 * columns]
            for tensor in (gate_up, apart):
                copies += swiglu_quantize(tensor, operands)
                copies += swiglu_backward_quantize(dh, tensor, operands)
            x, weight = change(inputs.bf16((rows, columns))), inputs.bf16((columns,), 2)
            copies += rms_norm_quantize(x, weight, operands, eps=inputs.EPS)
        return copies

    compared(without, run)


@pytest.mark.gpu
def test_panels_are_written_over_and_over_and_in_a_graph(without):
    operand = RECIPES["rowwise"].operand(MATMULS["wgrad"], Side.B)
    x = torch.randn(4096, 4096, device=WHERE).bfloat16()
    without(False)
    expected = [quantize(x, operand)]
    without(True)
    assert_repeats(lambda: [quantize(x, operand)], expected, 300)


@pytest.mark.gpu
def test_strips_are_written_over_and_over_and_in_a_graph(without):
    operands = TAKEN["deepseek_v3-x"]
    gate_up = inputs.bf16((512, 1024))
    without(True)
    assert_repeats(lambda: swiglu_quantize(gate_up, operands), swiglu_quantize(gate_up, operands), 100)
