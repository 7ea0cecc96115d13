"""A layer's call: autograd, launches of eager calls, and the operators that torch.compile meets.

    run ─► autograd ─► forward, backward                     eager
                  └──► fp8_explorer::layer_forward, …        torch.compile and dispatch modes

An eager call's launches are cached: a small layer's kernels take less time than the Python that decides on
them. So the first call decides, and a call like it allocates and launches, no more. An operator does what an
eager call does. It takes tensors, names and numbers alone: a recipe goes by its key.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import chain
from math import prod
from typing import Any

import torch
from torch.autograd.function import once_differentiable
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

from kernels.launching.cache import LaunchCache
from kernels.launching.tokens import layout, token
from kernels.layer.calls import EMULATED, EMULATED_SHAPES, KERNELS, SHAPES, Calls, Parts, calls_of
from kernels.layer.plan import LayerPlan
from kernels.layer.steps import NOTHING, Call, Copies, Steps, cast, random_seeds, saved_groups, steps_of

PLAIN = (torch.Tensor, torch.nn.Parameter)
LAUNCHES = LaunchCache()
"""Launches of forwards and backwards, by steps, layouts and the gradients wanted."""
Results = Sequence[torch.Tensor | None]
"""y and the tensors that its backward reads; or dx, and dw of each weight, None where steps give none."""
_CHECKPOINT = "torch.utils.checkpoint", "_checkpoint_hook.__init__.<locals>.pack_hook"
_MOST_SHAPES = 1 << 12
_shapes: dict[Hashable, list[torch.Tensor]] = {}
"""Stand-ins for dropped tensors, by layout: the shapes that a checkpoint compares, without memory."""


def run(
    steps: Steps,
    x: torch.Tensor,
    weights: tuple[torch.Tensor, ...],
    w_copies: tuple[Copies | None, ...] = NOTHING,
) -> torch.Tensor:
    """y[..., out] of x[..., in] and weights, which were checked; autograd knows its gradients."""
    plan = steps.plan
    if not x.is_meta and torch.is_autocast_enabled(x.device.type):
        x = cast(x, torch.get_autocast_dtype(x.device.type))
    tensors = (x, *weights)
    grads = torch.is_grad_enabled()
    needs_grad = tuple([grads and each.requires_grad for each in tensors])
    call = Call(
        calls_of(plan) if _is_eager(tensors) else None,
        needs_grad,
        random_seeds(plan, len(weights), x.device) if plan.is_random else (),
        tuple([_main_grad(w) for w in weights]),
        w_copies,
    )
    if True in needs_grad:
        return _Function.apply(steps, call, x, *weights)
    with torch.no_grad():
        return _shaped(_called(steps, call, _flat(x), weights)[0], x.shape)


def _flat(x: torch.Tensor) -> torch.Tensor:
    """[tokens, in] of x [..., in]."""
    return x if x.ndim == 2 else x.reshape(prod(x.shape[:-1]), x.shape[-1])


def _shaped(flat: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """[..., out] of y [tokens, out], for x of a shape [..., in]."""
    return flat if len(shape) == 2 else flat.view(*shape[:-1], flat.shape[-1])


def weight_copies(w: torch.Tensor, plan: LayerPlan) -> Copies:
    """Both copies of a weight, to be kept from one call to the next."""
    call = Call(calls_of(plan), (), random_seeds(plan, 1, w.device))
    with torch.inference_mode(mode=False), torch.no_grad():
        return call.copies(w, plan.w, 0, (True, True))


def _main_grad(w: torch.Tensor) -> torch.Tensor | None:
    """w.main_grad, where it is float32. Raises ValueError where its shape or place is not w's."""
    main_grad = getattr(w, "main_grad", None)
    if not isinstance(main_grad, torch.Tensor) or main_grad.dtype != torch.float32:
        return None
    if main_grad.shape != w.shape or main_grad.device != w.device:
        raise ValueError(
            f"main_grad is float32{list(w.shape)} on {w.device}, "
            f"got {list(main_grad.shape)} on {main_grad.device}"
        )
    return main_grad


def _is_eager(tensors: Sequence[torch.Tensor]) -> bool:
    """True where nobody listens to operators."""
    if torch.compiler.is_compiling() or is_in_torch_dispatch_mode():
        return False
    return all(type(each) in PLAIN and not each.is_meta for each in tensors)


class _Function(torch.autograd.Function):
    """y of x [..., in] and weights. Gradients go to all; numbers come from their copies."""

    @staticmethod
    def forward(ctx: Any, steps: Steps, call: Call, x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        y, *tensors = _called(steps, call, _flat(x), weights)
        ctx.save_for_backward(*tensors)
        ctx.call = steps, call, x.shape, tuple([each.dtype for each in (x, *weights)])
        return _shaped(y, x.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        steps, call, shape, dtypes = ctx.call
        saved, needs_grad = call.needs_grad, tuple(ctx.needs_input_grad[2:])
        if needs_grad != saved:
            call = call._replace(needs_grad=needs_grad)
        run = _operated if call.calls is None else backward
        dx, *dw = run(steps, call, saved, ctx.saved_tensors, _flat(dy), dtypes)
        return None, None, None if dx is None else dx.view(shape), *dw


def _called(steps: Steps, call: Call, x: torch.Tensor, weights: tuple[torch.Tensor, ...]) -> Results:
    """A forward: the function, or its operator and what operators cannot give, an input itself."""
    if call.calls is not None:
        return forward(steps, call, x, weights)
    plan = steps.plan
    y, *own = layer_forward(x, [*weights], [*call.seeds], plan.key, plan.emulate, [*call.needs_grad])
    results, inputs = iter(own), (x, *weights)
    numbers = chain(*saved_groups(plan.key, plan.emulate, call.needs_grad))
    return [y, *[next(results) if at is None else cast(inputs[at], torch.bfloat16) for at in numbers]]


def _operated(
    steps: Steps,
    call: Call,
    saved: tuple[bool, ...],
    tensors: Sequence[torch.Tensor],
    dy: torch.Tensor,
    dtypes: tuple[torch.dtype, ...],
) -> Results:
    """A backward by operators. One that adds into memory gives nothing else: it is called apart."""
    arguments = dy, [*tensors], [*call.seeds], steps.plan.key, steps.plan.emulate, [*saved]
    adds = (False, *(each is not None for each in call.main_grads))
    added = [want and add for want, add in zip(call.needs_grad, adds, strict=True)]
    alone = [want and not add for want, add in zip(call.needs_grad, adds, strict=True)]
    results = iter(layer_backward(*arguments, alone, dtypes[1]) if True in alone else ())
    if True in added:
        layer_backward_add(*arguments, added, dtypes[1], *call.main_grads)
    return [cast(next(results), dtype) if want else None for want, dtype in zip(alone, dtypes, strict=True)]


def forward(steps: Steps, call: Call, x: torch.Tensor, weights: tuple[torch.Tensor, ...]) -> Results:
    """An eager forward, cached where the kernels compute it."""
    if call.calls is not KERNELS and call.calls is not EMULATED:
        return _computed(steps, call, x, weights)
    inputs = [x, *weights, *call.seeds]
    if call.w_copies is not NOTHING:
        inputs += [part for both in call.w_copies if both is not None for parts in both for part in parts]
    has_copies = tuple([each is not None for each in call.w_copies])
    layouts = has_copies, *[layout(each) for each in inputs]

    def results(call: Call) -> Results:
        key = token(steps), call.needs_grad, layouts
        return _cached(call, key, inputs, lambda: _computed(steps, call, x, weights))

    if not _is_dropped():
        return results(call)
    # What is saved is dropped at once, and computed again: make no copy that only the backward reads.
    key = token(steps), call.needs_grad, layouts
    if key in _shapes:
        return [results(call._replace(needs_grad=(False,) * len(call.needs_grad)))[0], *_shapes[key]]
    y, *tensors = results(call)
    if len(_shapes) >= _MOST_SHAPES:
        _shapes.clear()
    _shapes[key] = [each.new_empty(1).expand(each.shape) for each in tensors]
    return y, *tensors


def _is_dropped() -> bool:
    """True in the first forward under torch.utils.checkpoint, which drops what autograd saves."""
    hooks = torch._C._autograd._top_saved_tensors_default_hooks(True)
    return hooks is not None and (hooks[0].__module__, hooks[0].__qualname__) == _CHECKPOINT


def _computed(steps: Steps, call: Call, x: torch.Tensor, weights: tuple[torch.Tensor, ...]) -> Results:
    y, groups = steps.forward(x, weights, call)
    return [y, *chain(*groups)]


def backward(
    steps: Steps,
    call: Call,
    saved: tuple[bool, ...],
    tensors: Sequence[torch.Tensor],
    dy: torch.Tensor,
    dtypes: tuple[torch.dtype, ...],
) -> Results:
    """An eager backward, cached where the kernels compute it.

    `tensors`: the forward's, as autograd gives them back; `saved`: the gradients that were wanted then.
    """

    def computed() -> Results:
        rest = iter(tensors)
        groups = saved_groups(steps.plan.key, steps.plan.emulate, saved)
        return steps.backward(dy, [[next(rest) for _ in group] for group in groups], dtypes, call)

    if call.calls is not KERNELS:
        return computed()
    main_grads = [each for each in call.main_grads if each is not None]
    # A hook may have moved what was saved: it lies otherwise then, and has another key.
    layouts = tuple([layout(each) for each in tensors])
    key = (token(steps), saved, layouts, call.needs_grad, dtypes, layout(dy), *map(layout, call.main_grads))
    return _cached(call, key, [dy, *tensors, *call.seeds, *main_grads], computed)


def _cached(
    call: Call, key: Hashable, inputs: list[torch.Tensor], computed: Callable[[], Results]
) -> Results:
    """What `computed` gives, by the launches of an earlier call like this one where there is one."""
    if call.calls is not KERNELS:
        return computed()
    launches = LAUNCHES.get(key)
    return LAUNCHES.trace(key, inputs, (), computed) if launches is None else launches(inputs)


NAMESPACE = "fp8_explorer"
_LIBRARY = torch.library.Library(NAMESPACE, "DEF")
_TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order)


def _operator(schema: str, run: Callable[..., Any]) -> torch._ops.OpOverload:
    """Define an operator for every device and for tensors without memory. `run` takes CallsOf first."""
    name = schema.partition("(")[0]
    _LIBRARY.define(schema, tags=_TAGS)
    _LIBRARY.impl(name, lambda *given: run(calls_of, *given), "CompositeExplicitAutograd")
    torch.library.register_fake(f"{NAMESPACE}::{name}", lambda *given: run(_shapes_of, *given), lib=_LIBRARY)
    return getattr(getattr(torch.ops, NAMESPACE), name).default


CallsOf = Callable[[LayerPlan], Calls]


def _shapes_of(plan: LayerPlan) -> Calls:
    return EMULATED_SHAPES if plan.emulate else SHAPES


def _forward(
    calls: CallsOf,
    x: torch.Tensor,
    weights: Parts,
    seeds: Parts,
    recipe: str,
    emulate: bool,
    needs_grad: list[bool],
) -> Parts:
    """y, then what its backward reads, but no input."""
    steps, wanted = steps_of(recipe, emulate, len(weights)), tuple(needs_grad)
    y, *tensors = forward(steps, Call(calls(steps.plan), wanted, tuple(seeds)), x, tuple(weights))
    numbers = chain(*saved_groups(recipe, emulate, wanted))
    return [y, *(each for each, number in zip(tensors, numbers, strict=True) if number is None)]


def _backward(
    calls: CallsOf,
    dy: torch.Tensor,
    tensors: Parts,
    seeds: Parts,
    recipe: str,
    emulate: bool,
    saved: list[bool],
    needs_grad: list[bool],
    dtype: torch.dtype,
    *main_grads: torch.Tensor | None,
) -> Parts:
    """The gradients that are asked for: dx in dy's dtype, dw in `dtype`, unless main_grads take it."""
    layers = len(needs_grad) - 1
    steps = steps_of(recipe, emulate, layers)
    call = Call(calls(steps.plan), tuple(needs_grad), tuple(seeds), main_grads[:layers] or NOTHING[:layers])
    gradients = backward(steps, call, tuple(saved), tensors, dy, (dy.dtype, *(dtype,) * layers))
    return [each for each in gradients if each is not None]


def _backward_add(calls: CallsOf, *arguments: Any) -> None:
    """Wgrad is added into main_grads, and nothing is returned."""
    if calls is calls_of:
        _backward(calls, *arguments)


_GIVEN = "Tensor[] seeds, str recipe, bool emulate"
_BACKWARD = f"(Tensor dy, Tensor[] tensors, {_GIVEN}, bool[] saved, bool[] needs_grad, ScalarType dtype"
layer_forward = _operator(
    f"layer_forward(Tensor x, Tensor[] weights, {_GIVEN}, bool[] needs_grad) -> Tensor[]", _forward
)
layer_backward = _operator(f"layer_backward{_BACKWARD}) -> Tensor[]", _backward)
layer_backward_add = _operator(
    f"layer_backward_add_{_BACKWARD}, Tensor(a!)? main_grad=None, Tensor(b!)? second=None) -> ()",
    _backward_add,
)
