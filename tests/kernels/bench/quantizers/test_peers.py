"""Contract: torch.compile is given operations that it can follow, and that make the codes of the job."""

import pytest
import torch

from fp8core import quantize as reference
from kernels.bench.quantizers import QuantizerJob, QuantizerKernel
from kernels.bench.quantizers.peers import operations

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
