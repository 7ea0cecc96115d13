"""Layers in a recipe, for PyTorch: `linear`, `Float8Linear`, `SwigluMlp`, `convert_to_float8_training`.

    plan.py           which copies of x, w and dy a recipe's three matmuls read
    calls.py          quantize, swiglu and multiply, by kernels or by the reference's rules
    steps.py          forward and backward of a linear layer and of a SwigluMlp
    packing.py        what a forward writes for its backward, in one tensor
    function.py       a call: autograd, launches of eager calls, the operators of torch.compile
    float8_linear.py  linear and Float8Linear
    sharded.py        tensor parallelism
    mlp.py            SwigluMlp: two layers and SwiGLU between them
    convert.py        nn.Linear layers of a model become Float8Linear
    timeline/         a step's kernels, one after the other

`python -m kernels.measure layer` times a step kernel by kernel, beside bf16 and fp8 of torch's operations.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernels.layer.convert import convert_to_float8_training
    from kernels.layer.float8_linear import Float8Linear, linear
    from kernels.layer.mlp import SwigluMlp

__all__ = ["Float8Linear", "SwigluMlp", "convert_to_float8_training", "linear"]

_HOMES = {
    "Float8Linear": "float8_linear",
    "SwigluMlp": "mlp",
    "convert_to_float8_training": "convert",
    "linear": "float8_linear",
}


def __getattr__(name: str) -> object:
    """Load a public name at its first use: importing kernels needs no torch."""
    if name not in _HOMES:
        raise AttributeError(f"kernels.layer has no {name!r}")
    from importlib import import_module

    return getattr(import_module(f"kernels.layer.{_HOMES[name]}"), name)
