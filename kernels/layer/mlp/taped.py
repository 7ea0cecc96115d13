"""A SwigluMlp called from Python: its way there is one tape, and its way back is another."""

from collections.abc import Hashable, Sequence
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from kernels.launching.tokens import layout, token
from kernels.launching.warm import Done
from kernels.layer.copies import Held
from kernels.layer.matmuls import Copies
from kernels.layer.mlp.step import Block, Wanted, backward, forward, quantized
from kernels.layer.taped import (
    TAPES,
    Gradients,
    There,
    also,
    back,
    record_all,
    there,
    together,
    weight,
)

_WHAT = "swiglu mlp"


def taped_mlp(
    x: torch.Tensor,
    weights: tuple[torch.Tensor, torch.Tensor],
    block: Block,
    kept: tuple[Copies | None, Copies | None],
    wanted: Wanted,
) -> torch.Tensor:
    """y[tokens, in] of x[tokens, in]. `kept`: both copies of each weight, where they were made before."""
    if any(wanted):
        return _Taped.apply(x, *weights, (block, kept, wanted))
    with torch.no_grad():
        return way_there(x, weights, block, kept, wanted).y


def way_there(
    x: torch.Tensor,
    weights: tuple[torch.Tensor, torch.Tensor],
    block: Block,
    kept: tuple[Copies | None, Copies | None],
    wanted: Wanted,
) -> There:
    """y, and what the way back reads."""
    given = [x]
    of_weights = [weight(*each, given) for each in zip(weights, kept, strict=True)]
    asked = _WHAT, token(block.plan), layout(x), *of_weights, wanted, *_also(block, given)
    tape = TAPES.get(asked)
    if tape is not None:
        return tape(given)

    def run() -> Done[There]:
        calls, rows = together()
        own = block._replace(calls=calls)
        of_x, of_up, of_down = quantized(x, weights, own, kept, wanted)
        y, gate_up, of_h = forward(x, own, (of_x, of_up, of_down), keep_h=wanted[2])
        record_all(rows)
        return there(y, of_x[1], of_up[1], of_down[1], [gate_up], of_h[1])

    return TAPES.record(asked, given, (), run)


def way_back(
    dy: torch.Tensor,
    there: tuple[Sequence[torch.Tensor], Held, Sequence[int]],
    block: Block,
    dtypes: Sequence[torch.dtype],
    wanted: Wanted,
) -> Gradients:
    """The gradients that are wanted. `there`: the tensors held, what they are and where they were."""
    tensors, held, marks = there
    _, to_up, to_down = wanted
    sums = [each.main_grad if to_w else None for each, to_w in ((block.up, to_up), (block.down, to_down))]
    given = [dy, *tensors]
    asked = (
        _WHAT,
        token(block.plan),
        layout(dy),
        held.number,
        wanted,
        dtypes,
        *map(layout, sums),
        *_also(block, given),
    )
    given += [each for each in sums if each is not None]

    def run() -> Done[Gradients]:
        calls, rows = together()
        grads = backward(dy, block._replace(calls=calls), held.groups(tensors, marks), dtypes, wanted)
        record_all(rows)
        return back(grads)

    if held.moved(tensors, marks):
        return run().value
    tape = TAPES.get(asked)
    return TAPES.record(asked, given, (), run) if tape is None else tape(given)


def _also(block: Block, given: list[torch.Tensor]) -> tuple[Hashable, Hashable]:
    """Add what both layers carry to the tensors of a call; what tells one such call from others."""
    return also(block.up, given), also(block.down, given)


class _Taped(torch.autograd.Function):
    """y of x [tokens, in] and both weights. Gradients go to all three; numbers come from their copies."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        w_up: torch.Tensor,
        w_down: torch.Tensor,
        step: tuple[Block, tuple[Copies | None, Copies | None], Wanted],
    ) -> torch.Tensor:
        y, tensors, held = way_there(x, (w_up, w_down), *step)
        ctx.save_for_backward(*tensors)
        ctx.way = held, held.marks(tensors), step[0], (x.dtype, w_up.dtype, w_down.dtype)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        held, marks, block, dtypes = ctx.way
        wanted = ctx.needs_input_grad[:3]
        return *way_back(dy, (ctx.saved_tensors, held, marks), block, dtypes, wanted), None
