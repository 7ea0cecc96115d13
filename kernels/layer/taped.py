"""A layer called from Python: its way there is one tape, and its way back is another.

The kernels of a small layer take less time than the Python that decides on them. So all that a way decides is
decided in its first call, and a call like it asks for memory and launches, no more.
"""

from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import torch
from torch.autograd.function import once_differentiable

from kernels.gemm.launch import layout_of, tensors_of
from kernels.launching.launch import packed, unrecorded
from kernels.launching.tape import Seen
from kernels.launching.tokens import interned, layout, token
from kernels.launching.warm import Done, Warm
from kernels.layer.calls import PYTHON, Calls
from kernels.layer.carried import DY, Carried, W, X
from kernels.layer.copies import Forms, Given, marks_of, restored, saved
from kernels.layer.matmuls import Copies, copies, dgrad, fprop, wgrad
from kernels.layer.plan import LayerPlan
from kernels.layer.record import record_now

TAPES = Warm()
"""What both ways of layers left, by the plan, the layouts of their tensors and the gradients wanted."""


class Held(NamedTuple):
    """What the tensors are that the way back reads: copies of x, `of_x` of them, then copies of w.

    - number: equal for tensors of one meaning that lie alike. layouts: how each one lies.
    - places: how they lie in one piece of memory, where that is what is held.
    """

    number: int
    forms: Forms
    of_x: int
    layouts: tuple[Hashable, ...]
    places: tuple[Seen, ...]

    def marks(self, tensors: Sequence[torch.Tensor]) -> Sequence[int]:
        """What differs where a hook has moved codes, and has left the zeros after their rows behind."""
        return () if self.places else marks_of(tensors, self.forms)

    def moved(self, tensors: Sequence[torch.Tensor], marks: Sequence[int]) -> bool:
        """True where a hook has moved what was saved, and it lies otherwise."""
        return tuple(map(layout, tensors)) != self.layouts or self.marks(tensors) != marks

    def copies(
        self, tensors: Sequence[torch.Tensor], marks: Sequence[int]
    ) -> tuple[list[Given], list[Given]]:
        """The copies of x and those of w."""
        if self.places:
            with unrecorded():
                tensors = [place.of([*tensors]) for place in self.places]
            marks = marks_of(tensors, self.forms)
        every = restored(tensors, self.forms, marks)
        return every[: self.of_x], every[self.of_x :]


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
    if kept is None:
        of_w: Hashable = layout(w)
        given = [x, w]
    else:
        every = (*kept[0], *kept[1])
        of_w, given = tuple(map(layout_of, every)), [x, *chain.from_iterable(map(tensors_of, every))]
    asked = token(plan), layout(x), of_w, wanted, _also(carried, given)
    tape = TAPES.get(asked)
    if tape is not None:
        return tape(given)

    def run() -> Done[There]:
        calls, rows = _together()
        of_x = copies(x, plan, plan.x, calls, carried, (X, True, wanted[1]))
        of_w = kept or copies(w, plan, plan.w, calls, carried, (W, True, wanted[0]))
        if rows:
            record_now(*rows[0], *rows[1:])
        y = fprop(of_x, of_w, plan, PYTHON, x)
        every = [*of_x[1], *of_w[1]]
        tensors, forms = saved(every)
        tensors, places = packed(tensors)
        held = Held(
            number=interned((bool(places), len(of_x[1]), *map(layout_of, every))),
            forms=forms,
            of_x=len(of_x[1]),
            layouts=tuple(map(layout, tensors)),
            places=places,
        )
        return Done(
            value=There(y, tensors, held),
            results=(y, *tensors),
            finish=lambda made: There(made[0], made[1:], held),
        )

    return TAPES.record(asked, given, (), run)


def _together() -> tuple[Calls, list[tuple[torch.Tensor, torch.Tensor]]]:
    """Functions that note what is to be recorded, and where: one kernel does it for x and w."""
    rows: list[tuple[torch.Tensor, torch.Tensor]] = []
    return PYTHON._replace(record=lambda steps, amax: rows.append((steps, amax))), rows


Gradients = tuple[torch.Tensor | None, torch.Tensor | None]
"""dx and dw; None where one is not wanted, or was added to main_grad."""


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
    asked = token(plan), layout(dy), held.number, wanted, dtypes, layout(main_grad), _also(carried, given)
    if main_grad is not None:
        given.append(main_grad)

    def run() -> Done[Gradients]:
        of_x, of_w = held.copies(tensors, marks)
        for_dgrad, for_wgrad = copies(dy, plan, plan.dy, PYTHON, carried, (DY, to_x, to_w))
        tokens, out = dy.shape
        dx = dgrad(for_dgrad, of_w, plan, PYTHON, out, dtypes[0]) if to_x else None
        dw = wgrad(for_wgrad, of_x, plan, PYTHON, tokens, dtypes[1], main_grad) if to_w else None
        made = [each for each in (dx, dw) if each is not None]
        places = [None if each is None else 0 if each is dx else len(made) - 1 for each in (dx, dw)]
        return Done(
            value=(dx, dw),
            results=made,
            finish=lambda made: tuple(None if place is None else made[place] for place in places),
        )

    if held.moved(tensors, marks):
        return run().value
    tape = TAPES.get(asked)
    return TAPES.record(asked, given, (), run) if tape is None else tape(given)


def _also(carried: Carried, given: list[torch.Tensor]) -> Hashable:
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
