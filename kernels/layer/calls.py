"""Functions by which a layer quantizes and multiplies: straight from Python, or as operators of torch's."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

from kernels.layer.copies import Given
from kernels.layer.ops import (
    gemm_add_now,
    gemm_add_op,
    gemm_now,
    gemm_op,
    quantize_now,
    quantize_op,
    take_now,
    take_op,
)
from kernels.layer.plan import LayerPlan
from kernels.layer.record import record, record_now
from kernels.layer.swiglu_ops import swiglu_now, swiglu_op


class Calls(NamedTuple):
    """Functions that make copies and multiply them.

    `whole`: a copy stays one thing. Else it is in parts, which torch's dispatcher and its compiler know.
    """

    whole: bool
    quantize: Callable[..., list[Given]]
    gemm: Callable[..., torch.Tensor]
    gemm_add: Callable[..., None]
    swiglu: Callable[..., list[Given]]
    record: Callable[[torch.Tensor, torch.Tensor], None]
    take: Callable[[torch.Tensor], torch.Tensor]


_OPERATORS = Calls(
    whole=False,
    quantize=quantize_op,
    gemm=gemm_op,
    gemm_add=gemm_add_op,
    swiglu=swiglu_op,
    record=record,
    take=take_op,
)
PYTHON = Calls(
    whole=True,
    quantize=quantize_now,
    gemm=gemm_now,
    gemm_add=gemm_add_now,
    swiglu=swiglu_now,
    record=record_now,
    take=take_now,
)
_python = PYTHON


@contextmanager
def calling(calls: Calls) -> Iterator[None]:
    """Layers call these, where they called PYTHON: somebody wants to know when."""
    global _python
    _python = calls
    try:
        yield
    finally:
        _python = PYTHON


_PLAIN = (torch.Tensor, torch.nn.Parameter)


def calls_for(plan: LayerPlan, *tensors: torch.Tensor) -> Calls:
    """The kernels straight from Python where nobody listens to operators: less to do on the host.

    tensors: x and the weights.
    """
    if plan.emulate or torch.compiler.is_compiling() or is_in_torch_dispatch_mode():
        return _OPERATORS
    for each in tensors:
        if type(each) not in _PLAIN or each.is_meta:
            return _OPERATORS
    return _python
