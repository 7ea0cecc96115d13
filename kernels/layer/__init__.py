"""Layers in a recipe, for PyTorch: `linear`, `Float8Linear`, `SwigluMlp`, `convert_to_float8_training`.

The three matmuls of a layer run as the recipe says, each operand quantized once for each that reads it.
`python -m kernels.layer` times a step kernel by kernel, beside bf16 and fp8 made of torch's operations.

    plan.py      which copies of x, w and dy a recipe's three matmuls read
    ops.py       fp8_explorer::quantize, ::gemm and others, the operators that torch knows; swiglu_ops.py too
    calls.py     kernels called straight from Python, or as operators
    matmuls.py   copies of a tensor for its readers, and the three matmuls
    autograd.py  linear: Fprop, and Dgrad and Wgrad on the way back
    taped.py     both ways of a layer called from Python, each one tape
    module.py    Float8Linear: weights, kept copies, amax history, seeds
    record.py    this step's amax joins the history of a delayed scale
    mlp/         SwigluMlp: two layers and SwiGLU between them
    convert.py   every nn.Linear of a model becomes one
    held.py      bytes held for the way back
    timeline/    a step's kernels, one after the other
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernels.layer.autograd import linear
    from kernels.layer.convert import convert_to_float8_training
    from kernels.layer.held import HeldBytes, held_bytes
    from kernels.layer.mlp.module import SwigluMlp
    from kernels.layer.module import Float8Linear
    from kernels.layer.plan import operand_seed

__all__ = [
    "Float8Linear",
    "HeldBytes",
    "SwigluMlp",
    "convert_to_float8_training",
    "held_bytes",
    "linear",
    "operand_seed",
]

_HOMES = {
    "Float8Linear": "module",
    "HeldBytes": "held",
    "SwigluMlp": "mlp.module",
    "convert_to_float8_training": "convert",
    "held_bytes": "held",
    "linear": "autograd",
    "operand_seed": "plan",
}


def __getattr__(name: str) -> object:
    """Load a public name at its first use: importing kernels needs no torch."""
    if name not in _HOMES:
        raise AttributeError(f"kernels.layer has no {name!r}")
    from importlib import import_module

    return getattr(import_module(f"kernels.layer.{_HOMES[name]}"), name)
