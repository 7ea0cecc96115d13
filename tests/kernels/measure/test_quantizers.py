"""Contract: each copy is timed alone and both at once, beside torch's compiled operations."""

from argparse import Namespace
from dataclasses import replace

import pytest
import torch

from fp8core import quantize as reference
from kernels.measure.jobs import QuantizerJob, QuantizerKernel
from kernels.measure.quantizer import jobs_of, operations
from tests.kernels.measure.made_up import QUANTIZER as JOB


def asked(recipe, kernel):
    options = Namespace(recipe=recipe, kernel=kernel.value, tensor=None)
    return [job.matmuls for job in jobs_of(options)]


def test_each_copy_is_timed_alone_and_both_at_once():
    assert asked("deepseek_v3", QuantizerKernel.SWIGLU) == [("fprop",), ("wgrad",), ("fprop", "wgrad")]
    assert asked("deepseek_v3", QuantizerKernel.SWIGLU_BACKWARD) == [
        ("dgrad",),
        ("wgrad",),
        ("dgrad", "wgrad"),
    ]


SIZE = (128, 256)


def job(kernel, recipe, *matmuls):
    tensor = "dy" if "dgrad" in matmuls else "x"
    return QuantizerJob(
        kernel=kernel, recipe=recipe, tensor=tensor, matmuls=matmuls, rows=SIZE[0], columns=SIZE[1]
    )


@pytest.mark.parametrize("recipe", ["deepseek_v3", "mxfp8", "per_tensor", "rowwise"])
def test_dynamo_follows_the_operations_and_their_codes_are_the_references(recipe):
    """Up to a code beside a tie: the last bit of a scale may differ."""
    one = job(QuantizerKernel.QUANTIZE, recipe, "fprop", "wgrad")
    x = torch.randn(SIZE, generator=torch.Generator().manual_seed(0)).bfloat16()
    torch.compiler.reset()
    made = torch.compile(operations(one), fullgraph=True, dynamic=False, backend="eager")(x)
    for each, operand in zip(made, one.operands, strict=True):
        truth = reference.quantize(x.float().numpy(), operand).codes
        own = each.codes.view(torch.uint8).numpy()
        assert (own == (truth.T if operand.k_is_rows else truth)).mean() > 0.99


@pytest.mark.parametrize(
    ("kernel", "matmuls", "shapes"),
    [
        (QuantizerKernel.SWIGLU, ("fprop",), [(128, 512)]),
        (QuantizerKernel.SWIGLU_BACKWARD, ("dgrad", "wgrad"), [(128, 128), (128, 256)]),
        (QuantizerKernel.RMS_NORM, ("wgrad",), [(128, 256), (256,)]),
    ],
)
def test_dynamo_follows_what_is_computed_first(kernel, matmuls, shapes):
    one = job(kernel, "deepseek_v3", *matmuls)
    given = [torch.randn(shape).bfloat16() for shape in shapes]
    torch.compiler.reset()
    made = torch.compile(operations(one), fullgraph=True, dynamic=False, backend="eager")(*given)
    assert [each.codes.shape for each in made if each is not None] == [
        operand.stored(SIZE) for operand in one.operands
    ]


def test_bytes_are_inputs_codes_and_scales_once_each():
    elements = JOB.rows * JOB.columns
    assert JOB.bytes == elements * (2 * 2 + 2) + 2 * 4 * elements // 128
    alone = replace(JOB, kernel=QuantizerKernel.QUANTIZE, matmuls=("fprop",), recipe="mxfp4")
    assert alone.bytes == elements * 2 + elements // 2 + elements // 32
    backward = replace(JOB, kernel=QuantizerKernel.SWIGLU_BACKWARD, tensor="dy", matmuls=("dgrad",))
    assert backward.bytes == elements * 3 + elements + 4 * elements // 128
    tensor = replace(alone, recipe="per_tensor")
    assert tensor.bytes == elements * 3 + 4
