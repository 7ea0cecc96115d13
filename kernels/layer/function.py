"""A layer's call: autograd, launches of eager calls, and the operators of torch.compile.

    run ─► autograd ─► forward, backward                     eager
                  └──► fp8_explorer::layer_forward, …        torch.compile and dispatch modes

A small layer's kernels take less time than the Python that decides on them, so launches are cached: only the
first call decides. An operator takes tensors, names and numbers alone, so a recipe goes by its key.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import chain
from math import prod
from typing import Any, TypeVar

import torch
from torch.autograd.function import once_differentiable
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

from kernels.launching.cache import TMA_BYTES, LaunchCache, layout_key, token
from kernels.layer.calls import EMULATED, KERNELS, Calls, Parts, calls_of, shapes_of
from kernels.layer.packing import Saved, Spans, pack, unpack
from kernels.layer.plan import LayerPlan
from kernels.layer.steps import NOTHING, Call, Copies, Steps, cast, random_seeds, saved_groups, steps_of

PLAIN = (torch.Tensor, torch.nn.Parameter)
LAUNCHES = LaunchCache()
Needs, Tensors, Dtypes = tuple[bool, ...], Sequence[torch.Tensor], tuple[torch.dtype, ...]
Results = Sequence[torch.Tensor | None]
_T = TypeVar("_T")
_CHECKPOINT = "torch.utils.checkpoint", "_checkpoint_hook.__init__.<locals>.pack_hook"
_MOST_SHAPES = 1 << 12
_shapes: dict[Hashable, tuple[list[torch.Tensor], Spans]] = {}
"""Shapes of dropped tensors without memory, which a checkpoint compares, and their spans, by layout."""


def run(
    steps: Steps,
    x: torch.Tensor,
    weights: tuple[torch.Tensor, ...],
    w_copies: tuple[Copies | None, ...] = NOTHING,
) -> torch.Tensor:
    """y[..., out] of checked x[..., in] and weights, with autograd."""
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
        return _shaped(_forward_value(steps, call, _flat(x), weights).y, x.shape)


def _flat(x: torch.Tensor) -> torch.Tensor:
    return x if x.ndim == 2 else x.reshape(prod(x.shape[:-1]), x.shape[-1])


def _shaped(flat: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """y [..., out], for autograd no view of another tensor: a caller may write into it."""
    if len(shape) == 2:
        return flat
    return torch.ops.aten._unsafe_view.default(flat, [*shape[:-1], flat.shape[-1]])


def weight_copies(w: torch.Tensor, plan: LayerPlan) -> Copies:
    call = Call(calls_of(plan), (), random_seeds(plan, 1, w.device))
    with torch.inference_mode(mode=False), torch.no_grad():
        return call.copies(w, plan.w, 0, (True, True))


def _main_grad(w: torch.Tensor) -> torch.Tensor | None:
    """w.main_grad if it is float32. Raises ValueError unless shape and device are w's."""
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
    """True unless torch.compile, a mode or a subclass wants to see operators."""
    return not is_in_torch_dispatch_mode() and _is_plain(tensors)


def _is_plain(tensors: Sequence[torch.Tensor]) -> bool:
    if torch.compiler.is_compiling():
        return False
    return all(type(each) in PLAIN and not each.is_meta for each in tensors)


class _Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, steps: Steps, call: Call, x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        y, tensors, spans = _forward_value(steps, call, _flat(x), weights)
        ctx.save_for_backward(*tensors)
        ctx.call = steps, call, spans, x.shape, tuple([each.dtype for each in (x, *weights)])
        return _shaped(y, x.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        steps, call, spans, shape, dtypes = ctx.call
        saved_for, needs_grad = call.needs_grad, tuple(ctx.needs_input_grad[2:])
        if call.calls is not None and any(each is not None for each in call.main_grads):
            edges = zip(needs_grad, ctx.next_functions, strict=True)
            needs_grad = tuple([needs and _is_wanted(edge) for needs, edge in edges])
        if needs_grad != saved_for:
            call = call._replace(needs_grad=needs_grad)
        tensors, dy = ctx.saved_tensors, _flat(dy)
        if call.calls is None:
            tensors = [*chain(*unpack(tensors, spans))] if spans else tensors
            dx, *dw = _operator_backward(steps, call, saved_for, tensors, dy, dtypes)
        else:
            dx, *dw = backward(steps, call, spans, tensors, dy, dtypes)
        return None, None, None if dx is None else dx.view(shape), *dw


def _is_wanted(edge: tuple[Any, int]) -> bool:
    """False for an input whose gradient this backward does not compute: autograd.grad(y, x) adds no dw."""
    try:
        return torch._C._will_engine_execute_node(edge[0])
    except RuntimeError:
        return True  # a leaf whose gradient autograd.grad returns


def _forward_value(steps: Steps, call: Call, x: torch.Tensor, weights: tuple[torch.Tensor, ...]) -> Saved:
    """The forward, eager or by its operator, which cannot return an input itself: that is added here."""
    if call.calls is not None:
        return forward(steps, call, x, weights)
    plan = steps.plan
    y, *own = layer_forward(x, [*weights], [*call.seeds], plan.key, plan.emulate, [*call.needs_grad])
    results, inputs = iter(own), (x, *weights)
    groups = [
        [next(results) if at is None else cast(inputs[at], torch.bfloat16) for at in group]
        for group in saved_groups(plan.key, plan.emulate, call.needs_grad)
    ]
    # A checkpoint may recompute without the mode of the forward: both save one tensor.
    return pack(y, groups, inputs) if _is_plain(inputs) else Saved(y, [*chain(*groups)], ())


def _operator_backward(
    steps: Steps, call: Call, saved_for: Needs, tensors: Tensors, dy: torch.Tensor, dtypes: Dtypes
) -> Results:
    """The backward by two operators: one that adds into memory returns nothing."""
    arguments = dy, [*tensors], [*call.seeds], steps.plan.key, steps.plan.emulate, [*saved_for]
    has_main = (False, *(each is not None for each in call.main_grads))
    to_main = [needs and main for needs, main in zip(call.needs_grad, has_main, strict=True)]
    returned = [needs and not main for needs, main in zip(call.needs_grad, has_main, strict=True)]
    results = iter(layer_backward(*arguments, returned, dtypes[1]) if True in returned else ())
    if True in to_main:
        layer_backward_add(*arguments, to_main, dtypes[1], *call.main_grads)
    pairs = zip(returned, dtypes, strict=True)
    return [cast(next(results), dtype) if is_returned else None for is_returned, dtype in pairs]


def forward(steps: Steps, call: Call, x: torch.Tensor, weights: tuple[torch.Tensor, ...]) -> Saved:
    """The eager forward."""
    is_cached = call.calls is KERNELS
    # A selective checkpoint keeps what an operator returns.
    is_dropped = call.packs and (is_cached or call.calls is EMULATED) and _is_dropped()
    if not is_cached and not is_dropped:
        # An observer sees and times no copy that a cached call does not make.
        return _computed(steps, call._replace(packs=call.packs and call.calls is EMULATED), x, weights)
    inputs = [x, *weights, *call.seeds]
    if call.w_copies is not NOTHING:
        inputs += _parts(call.w_copies)
    has_copies = tuple([each is not None for each in call.w_copies])
    layouts = call.packs, has_copies, *[layout_key(each) for each in inputs]

    def value(call: Call) -> Saved:
        if not is_cached:
            return _computed(steps, call, x, weights)
        key = token(steps), call.needs_grad, layouts
        return _cached(key, inputs, lambda: _computed(steps, call, x, weights))

    if not is_dropped:
        return value(call)
    # The checkpoint drops these tensors and computes them again: make no copy for the backward alone.
    key = token(steps), call.needs_grad, layouts
    if key in _shapes:
        return Saved(value(call._replace(needs_grad=(False,) * len(call.needs_grad))).y, *_shapes[key])
    first = value(call)
    if len(_shapes) >= _MOST_SHAPES:
        _shapes.clear()
    _shapes[key] = [each.new_empty(1).expand(each.shape) for each in first.tensors], first.spans
    return first


def _is_dropped() -> bool:
    """True in the first forward under torch.utils.checkpoint, which drops saved tensors."""
    hooks = torch._C._autograd._top_saved_tensors_default_hooks(True)
    return hooks is not None and (hooks[0].__module__, hooks[0].__qualname__) == _CHECKPOINT


def _computed(steps: Steps, call: Call, x: torch.Tensor, weights: tuple[torch.Tensor, ...]) -> Saved:
    y, groups = steps.forward(x, weights, call)
    if not call.packs:
        return Saved(y, [*chain(*groups)], tuple((None,) * len(group) for group in groups))
    return pack(y, groups, [x, *weights, *_parts(call.w_copies)])


def _parts(w_copies: tuple[Copies | None, ...]) -> list[torch.Tensor]:
    return [part for both in w_copies if both is not None for parts in both for part in parts]


def backward(
    steps: Steps, call: Call, spans: Spans, tensors: Tensors, dy: torch.Tensor, dtypes: Dtypes
) -> Results:
    """The eager backward."""
    if tensors and tensors[0].dtype == torch.uint8 and not _is_whole(tensors[0]):
        tensors = tensors[0].clone(memory_format=torch.contiguous_format), *tensors[1:]

    def computed() -> Results:
        return steps.backward(dy, unpack(tensors, spans), dtypes, call)

    if call.calls is not KERNELS:
        return computed()
    main_grads = [each for each in call.main_grads if each is not None]
    # A hook may have moved a saved tensor: its new layout has another key.
    layouts = tuple([layout_key(each) for each in tensors])
    key = (
        token(steps),
        token(spans),
        layouts,
        call.needs_grad,
        dtypes,
        *map(layout_key, (dy, *call.main_grads)),
    )
    return _cached(key, [dy, *tensors, *call.seeds, *main_grads], computed)


def _is_whole(packed: torch.Tensor) -> bool:
    """False if a hook brought it back as a part of other memory."""
    return packed.is_contiguous() and not packed.storage_offset() % TMA_BYTES


def _cached(key: Hashable, inputs: list[torch.Tensor], computed: Callable[[], _T]) -> _T:
    launches = LAUNCHES.get(key)
    return LAUNCHES.trace(key, inputs, (), computed) if launches is None else launches(inputs)


CallsOf = Callable[[LayerPlan], Calls]
_NAMESPACE = "fp8_explorer"
_LIBRARY = torch.library.Library(_NAMESPACE, "DEF")
_TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order)


def _operator(schema: str, run: Callable[..., Any]) -> torch._ops.OpOverload:
    """Define an operator, also for fake tensors. `run` takes CallsOf first."""
    name = schema.partition("(")[0]
    _LIBRARY.define(schema, tags=_TAGS)
    _LIBRARY.impl(name, lambda *inputs: run(calls_of, *inputs), "CompositeExplicitAutograd")
    torch.library.register_fake(
        f"{_NAMESPACE}::{name}", lambda *inputs: run(shapes_of, *inputs), lib=_LIBRARY
    )
    return getattr(getattr(torch.ops, _NAMESPACE), name).default


def _forward(
    calls: CallsOf,
    x: torch.Tensor,
    weights: Parts,
    seeds: Parts,
    recipe: str,
    emulate: bool,
    needs_grad: list[bool],
) -> Parts:
    """y, then the tensors for its backward that are no inputs."""
    steps, grads = steps_of(recipe, emulate, len(weights)), tuple(needs_grad)
    call = Call(calls(steps.plan), grads, tuple(seeds), packs=False)
    y, tensors, _ = forward(steps, call, x, tuple(weights))
    numbers = chain(*saved_groups(recipe, emulate, grads))
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
    """dx in dy's dtype, dw in `dtype`; main_grads take their dw."""
    layers = len(needs_grad) - 1
    steps = steps_of(recipe, emulate, layers)
    call = Call(calls(steps.plan), tuple(needs_grad), tuple(seeds), main_grads[:layers] or NOTHING[:layers])
    groups = saved_groups(recipe, emulate, tuple(saved))
    gradients = backward(steps, call, groups, tensors, dy, (dy.dtype, *(dtype,) * layers))
    return [each for each in gradients if each is not None]


def _backward_add(calls: CallsOf, *arguments: Any) -> None:
    if calls is calls_of:
        _backward(calls, *arguments)


_PLAN = "Tensor[] seeds, str recipe, bool emulate"
_BACKWARD = f"(Tensor dy, Tensor[] tensors, {_PLAN}, bool[] saved, bool[] needs_grad, ScalarType dtype"
layer_forward = _operator(
    f"layer_forward(Tensor x, Tensor[] weights, {_PLAN}, bool[] needs_grad) -> Tensor[]", _forward
)
layer_backward = _operator(f"layer_backward{_BACKWARD}) -> Tensor[]", _backward)
layer_backward_add = _operator(
    f"layer_backward_add_{_BACKWARD}, Tensor(a!)? main_grad=None, Tensor(b!)? second=None) -> ()",
    _backward_add,
)
