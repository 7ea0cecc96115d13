"""A layer called from Python: its way there is one tape, and its way back is another.

The kernels of a small layer take less time than the Python that decides on them. So all that a way decides is
decided in its first call, and a call like it asks for memory and launches, no more.
"""

from collections.abc import Hashable, Sequence
from itertools import chain, count
from typing import Any, NamedTuple

import torch
from torch.autograd.function import once_differentiable

from kernels.gemm.launch import layout_of, tensors_of
from kernels.launching.tokens import layout, token
from kernels.launching.warm import Done, Warm
from kernels.layer.calls import PYTHON, Calls
from kernels.layer.carried import DY, Carried, W, X
from kernels.layer.copies import Given, Held
from kernels.layer.matmuls import Copies, copies, dgrad, fprop, wgrad
from kernels.layer.plan import LayerPlan
from kernels.layer.record import record_now

TAPES = Warm()
"""What both ways of layers left, by the plan, the layouts of their tensors and the gradients wanted."""


class There(NamedTuple):
    """What the way there gives."""

    y: torch.Tensor
    tensors: Sequence[torch.Tensor]
    held: Held


def taped(
    x: torch.Tensor,
    w: torch.Tensor,
    plan: LayerPlan,
    carried: Carried,
    kept: Copies | None,
    wanted: tuple[bool, bool],
) -> torch.Tensor:
    """y[tokens, out] of x[tokens, in]. `wanted`: a gradient goes to x, one goes to w."""
    if wanted[0] or wanted[1]:
        return _Taped.apply(x, w, (plan, carried, kept, wanted))
    with torch.no_grad():
        return way_there(x, w, plan, carried, kept, wanted).y


def way_there(
    x: torch.Tensor,
    w: torch.Tensor,
    plan: LayerPlan,
    carried: Carried,
    kept: Copies | None,
    wanted: tuple[bool, bool],
) -> There:
    """y, and what the way back reads of x and w. `kept`: both copies of w, where they were made before."""
    given = [x]
    asked = token(plan), layout(x), weight(w, kept, given), wanted, also(carried, given)
    tape = TAPES.get(asked)
    if tape is not None:
        return tape(given)

    def run() -> Done[There]:
        calls, rows = together()
        of_x = copies(x, plan, plan.x, calls, carried, (X, True, wanted[1]))
        of_w = kept or copies(w, plan, plan.w, calls, carried, (W, True, wanted[0]))
        record_all(rows)
        y = fprop(of_x, of_w, plan, PYTHON, x)
        return there(y, of_x[1], of_w[1])

    return TAPES.record(asked, given, (), run)


def weight(w: torch.Tensor, kept: Copies | None, given: list[torch.Tensor]) -> Hashable:
    """Add a weight, or its kept copies, to the tensors of a call; what tells one such call from others."""
    if kept is None:
        given.append(w)
        return layout(w)
    every = (*kept[0], *kept[1])
    given += chain.from_iterable(map(tensors_of, every))
    return tuple(map(layout_of, every))


def there(y: torch.Tensor, *groups: list[Given]) -> Done[There]:
    """y, and copies to hold for the way back, as a tape keeps both."""
    tensors, held = Held.of(*groups)
    return Done(
        value=There(y, tensors, held),
        results=(y, *tensors),
        finish=lambda made: There(made[0], made[1:], held),
    )


Rows = list[tuple[torch.Tensor, torch.Tensor]]
"""Histories, and the amax that each is to have at its end."""


def together() -> tuple[Calls, Rows]:
    """Functions that note what is to be recorded, and where: one kernel does it for two."""
    rows: Rows = []
    return PYTHON._replace(record=lambda steps, amax: rows.append((steps, amax))), rows


def record_all(rows: Rows) -> None:
    """Record what was noted, two rows a kernel."""
    for place in range(0, len(rows), 2):
        first, *second = rows[place : place + 2]
        record_now(*first, *second)


Gradients = tuple[torch.Tensor | None, ...]
"""dx, and dw of each weight; None where one is not wanted, or was added to main_grad."""


def back(grads: Gradients) -> Done[Gradients]:
    """Gradients, as a tape keeps them."""
    numbers = count()
    places = [None if each is None else next(numbers) for each in grads]
    return Done(
        value=grads,
        results=[each for each in grads if each is not None],
        finish=lambda made: tuple(None if place is None else made[place] for place in places),
    )


def way_back(
    dy: torch.Tensor,
    there: tuple[Sequence[torch.Tensor], Held, Sequence[int]],
    plan: LayerPlan,
    carried: Carried,
    dtypes: tuple[torch.dtype, torch.dtype],
    wanted: tuple[bool, bool],
) -> Gradients:
    """Both gradients. `there`: the tensors that the way there held, what they are and where they were."""
    tensors, held, marks = there
    to_x, to_w = wanted
    main_grad = carried.main_grad if to_w else None
    given = [dy, *tensors]
    asked = token(plan), layout(dy), held.number, wanted, dtypes, layout(main_grad), also(carried, given)
    if main_grad is not None:
        given.append(main_grad)

    def run() -> Done[Gradients]:
        of_x, of_w = held.groups(tensors, marks)
        for_dgrad, for_wgrad = copies(dy, plan, plan.dy, PYTHON, carried, (DY, to_x, to_w))
        tokens, out = dy.shape
        dx = dgrad(for_dgrad, of_w, plan, PYTHON, out, dtypes[0]) if to_x else None
        dw = wgrad(for_wgrad, of_x, plan, PYTHON, tokens, dtypes[1], main_grad) if to_w else None
        return back((dx, dw))

    if held.moved(tensors, marks):
        return run().value
    tape = TAPES.get(asked)
    return TAPES.record(asked, given, (), run) if tape is None else tape(given)


def also(carried: Carried, given: list[torch.Tensor]) -> Hashable:
    """Add what a layer carries to the tensors of a call; what tells one such call from others."""
    if carried.seeds is None and carried.history is None:
        return None
    given += [each for each in (carried.seeds, carried.history) if each is not None]
    return layout(carried.seeds), layout(carried.history), carried.recording


class _Taped(torch.autograd.Function):
    """y of x [tokens, in] and w [out, in]. Gradients go to both; numbers come from their copies."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        w: torch.Tensor,
        step: tuple[LayerPlan, Carried, Copies | None, tuple[bool, bool]],
    ) -> torch.Tensor:
        plan, carried, _, _ = step
        y, tensors, held = way_there(x, w, *step)
        ctx.save_for_backward(*tensors)
        ctx.way = held, held.marks(tensors), plan, carried, (x.dtype, w.dtype)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        held, marks, plan, carried, dtypes = ctx.way
        wanted = ctx.needs_input_grad[:2]
        dx, dw = way_back(dy, (ctx.saved_tensors, held, marks), plan, carried, dtypes, wanted)
        return dx, dw, None
