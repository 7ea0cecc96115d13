"""The matmuls of a layer: a tensor becomes the copies that its readers are given, and they are multiplied."""

import torch

from kernels.layer.calls import Calls
from kernels.layer.carried import Carried
from kernels.layer.copies import Given
from kernels.layer.plan import LayerPlan, TensorPlan

Copies = tuple[list[Given], list[Given]]
"""What the first and the second reader of a tensor are given; nothing where a reader is not wanted."""


def copies(
    x: torch.Tensor,
    plan: LayerPlan,
    tensor: TensorPlan,
    calls: Calls,
    carried: Carried,
    wanted: tuple[int, bool, bool],
) -> Copies:
    """What the readers of a tensor are given: a copy, or the tensor itself in bf16.

    `wanted`: the tensor's row in the amax history, to which this step's is added; is the first reader's copy
    wanted, and the second's?
    """
    row, for_first, for_second = wanted
    asked, made = tensor.asked(for_first, for_second), []
    if asked:
        history = None if carried.history is None else carried.history[row]
        before = None if history is None else history.view(torch.float32)
        made = calls.quantize(x, plan.key, tensor.name, asked, carried.seeds, before, plan.emulate)
        if history is not None and carried.recording:
            calls.record(history, made[-1])
    first, second = tensor.wholes if calls.whole else tensor.parts
    at = first if for_first else 0
    return (
        _given(x, made, 0, first) if for_first else [],
        _given(x, made, at, second) if for_second else [],
    )


def _given(x: torch.Tensor, made: list[Given], at: int, count: int) -> list[Given]:
    """What was made from `at` on, or x in bf16 where nothing was."""
    return made[at : at + count] if count else [cast(x, torch.bfloat16)]


def fprop(of_x: Copies, of_w: Copies, plan: LayerPlan, calls: Calls, x: torch.Tensor) -> torch.Tensor:
    """y[tokens, out] in x's dtype."""
    y = calls.gemm(of_x[0], of_w[0], x.shape[1], plan.key, "fprop", plan.emulate, x.dtype)
    return cast(y, x.dtype)


def dgrad(
    of_dy: list[Given], of_w: list[Given], plan: LayerPlan, calls: Calls, out: int, dtype: torch.dtype
) -> torch.Tensor:
    """dx[tokens, in] in a dtype."""
    return cast(calls.gemm(of_dy, of_w, out, plan.key, "dgrad", plan.emulate, dtype), dtype)


def wgrad(
    of_dy: list[Given],
    of_x: list[Given],
    plan: LayerPlan,
    calls: Calls,
    tokens: int,
    dtype: torch.dtype,
    main_grad: torch.Tensor | None,
) -> torch.Tensor | None:
    """dw[out, in] in a dtype; None where it was added to main_grad."""
    if main_grad is not None:
        calls.gemm_add(main_grad, of_dy, of_x, tokens, plan.key, "wgrad", plan.emulate)
        return None
    return cast(calls.gemm(of_dy, of_x, tokens, plan.key, "wgrad", plan.emulate, dtype), dtype)


def cast(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """x in a dtype. No `to` where x has it: torch 2.11 compiles gradients of zero behind such a one."""
    return x if x.dtype == dtype else x.to(dtype)
