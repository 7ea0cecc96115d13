"""The steps of a SwigluMlp's two ways: y = h · w_downᵀ, h = silu(gate) · up, [gate, up] = x · w_gate_upᵀ.

The way there leaves for the way back: the copies of x and h for Wgrad, those of both weights for Dgrad, and
gate_up in bf16, of which SwiGLU's gradient is computed. h itself is never stored unless a matmul reads bf16.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from kernels.layer.calls import Calls
from kernels.layer.carried import DY, Carried, W, X
from kernels.layer.copies import Given
from kernels.layer.matmuls import Copies, cast, copies, dgrad, wgrad
from kernels.layer.plan import LayerPlan, TensorPlan

_BETWEEN = torch.bfloat16
"""The dtype between the two layers: that of gate_up and of h's gradient."""
Wanted = tuple[bool, bool, bool]
"""Gradients that are wanted: of x, of gate_up's weight, of down's weight."""
Gradients = tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None]
"""Those gradients; None where one is not wanted, or was added to main_grad."""


class Block(NamedTuple):
    """What a step of the block needs beside its tensors; `up` and `down` are carried by its two layers."""

    plan: LayerPlan
    calls: Calls
    up: Carried
    down: Carried


def quantized(
    x: torch.Tensor,
    weights: tuple[torch.Tensor, torch.Tensor],
    block: Block,
    kept: tuple[Copies | None, Copies | None],
    wanted: Wanted,
) -> tuple[Copies, Copies, Copies]:
    """The copies of x and of both weights. `kept`: those of each weight, where they were made before."""
    plan, calls, (to_x, to_up, _) = block.plan, block.calls, wanted
    of_x = copies(x, plan, plan.x, calls, block.up, (X, True, to_up))
    of_up = kept[0] or copies(weights[0], plan, plan.w, calls, block.up, (W, True, to_x))
    of_down = kept[1] or copies(weights[1], plan, plan.w, calls, block.down, (W, True, to_x or to_up))
    return of_x, of_up, of_down


def forward(
    x: torch.Tensor, block: Block, made: tuple[Copies, Copies, Copies], *, keep_h: bool
) -> tuple[torch.Tensor, torch.Tensor, Copies]:
    """y, gate_up and the copies of h. `made`: by `quantized`. keep_h: h's for Wgrad, too."""
    plan, calls, (of_x, of_up, of_down) = block.plan, block.calls, made
    gate_up = calls.gemm(of_x[0], of_up[0], x.shape[1], plan.key, "fprop", plan.emulate, _BETWEEN)
    gate_up = cast(gate_up, _BETWEEN)
    of_h = _swiglu(gate_up, None, block, plan.x, block.down, (X, True, keep_h))
    hidden = gate_up.shape[1] // 2
    y = calls.gemm(of_h[0], of_down[0], hidden, plan.key, "fprop", plan.emulate, x.dtype)
    return cast(y, x.dtype), gate_up, of_h


def backward(
    dy: torch.Tensor,
    block: Block,
    held: Sequence[list[Given]],
    dtypes: Sequence[torch.dtype],
    wanted: Wanted,
) -> Gradients:
    """The gradients that are wanted, in the dtypes of x and of both weights.

    `held`: the copies of x, gate_up's weight and down's weight for the way back, gate_up, and those of h.
    """
    of_x, of_up, of_down, (gate_up,), of_h = held
    plan, calls, (to_x, to_up, to_down), tokens = block.plan, block.calls, wanted, dy.shape[0]
    for_dgrad, for_wgrad = copies(dy, plan, plan.dy, calls, block.down, (DY, to_x or to_up, to_down))
    dx = dw_up = dw_down = None
    if to_down:
        dw_down = wgrad(for_wgrad, of_h, plan, calls, tokens, dtypes[2], block.down.main_grad)
    if to_x or to_up:
        dh = dgrad(for_dgrad, of_down, plan, calls, dy.shape[1], _BETWEEN)
        for_dgrad, for_wgrad = _swiglu(gate_up, dh, block, plan.dy, block.up, (DY, to_x, to_up))
    if to_x:
        dx = dgrad(for_dgrad, of_up, plan, calls, gate_up.shape[1], dtypes[0])
    if to_up:
        dw_up = wgrad(for_wgrad, of_x, plan, calls, tokens, dtypes[1], block.up.main_grad)
    return dx, dw_up, dw_down


def _swiglu(
    gate_up: torch.Tensor,
    dh: torch.Tensor | None,
    block: Block,
    tensor: TensorPlan,
    carried: Carried,
    wanted: tuple[int, bool, bool],
) -> Copies:
    """What the readers of h are given, or those of gate_up's gradient where dh is given.

    `carried` is that of the layer that reads it. `wanted`: as kernels.layer.matmuls.copies has it.
    """
    row, for_first, for_second = wanted
    history = None if carried.history is None else carried.history[row]
    before = None if history is None else history.view(torch.float32)
    plan = block.plan
    made = block.calls.swiglu(
        gate_up, dh, plan.key, for_first, for_second, carried.seeds, before, plan.emulate
    )
    if history is not None and carried.recording:
        block.calls.record(history, made[-1])
    # A reading in bf16 is given the tensor itself, which is one more part.
    counts = tensor.wholes if block.calls.whole else tensor.parts
    first, second = (max(count, 1) for count in counts)
    at = first if for_first else 0
    return made[:first] if for_first else [], made[at : at + second] if for_second else []
