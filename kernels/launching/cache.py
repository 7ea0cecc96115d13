"""Launch lists by the key of a call; its keys: equal tokens for equal things, and layouts of tensors.

Hashing a spec takes longer than a launch. So a spec is hashed once, and later looked up by its identity.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import count, pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from kernels.launching.driver import Driver, driver
from kernels.launching.launch import capturing
from kernels.launching.launch_list import LaunchList
from kernels.launching.parameters import Scalar, Uncacheable
from kernels.launching.trace import Trace, current_trace, tracing

if TYPE_CHECKING:
    import torch

_T = TypeVar("_T")
_MOST = 1 << 12
"""Entries of a LaunchCache; the oldest goes first."""
TMA_BYTES = 16
_MOST_TOKENS = 1 << 14
_numbers = count()
_by_identity: dict[int, tuple[Any, int]] = {}
_by_value: dict[Hashable, int] = {}


class LaunchCache:
    """Launch lists of one front door (gemm, quantize, a layer's step)."""

    def __init__(self) -> None:
        self._lists: dict[Hashable, LaunchList] = {}
        self.refusals: dict[Hashable, str] = {}
        """Reasons why Triton launches, by key."""
        self._lock = Lock()

    def get(self, key: Hashable) -> LaunchList | None:
        """The launches of an earlier call; None inside a trace, which would miss them."""
        return self._lists.get(key) if current_trace() is None else None

    def trace(
        self,
        key: Hashable,
        inputs: "Sequence[torch.Tensor]",
        scalars: Sequence[Scalar],
        run: Callable[[], _T],
    ) -> _T:
        """Run a first call and record its launches; returns its value."""
        cuda = self._driver(key, inputs)
        if cuda is None:
            return run()
        with tracing(Trace(inputs, scalars)) as trace:
            value = run()
        try:
            self._keep(self._lists, key, trace.launch_list(cuda, inputs[0].get_device(), value))
        except Uncacheable as error:
            self._keep(self.refusals, key, str(error))
        return value

    def _driver(self, key: Hashable, inputs: "Sequence[torch.Tensor]") -> Driver | None:
        """CUDA's driver; None without a GPU, with inputs that overlap, in a trace, in a capture."""
        if not all(each.is_cuda and each.numel() for each in inputs):
            return None
        if current_trace() is not None or key in self.refusals or overlap(inputs) or capturing():
            return None
        return driver()

    def _keep(self, entries: dict[Hashable, Any], key: Hashable, value: object) -> None:
        with self._lock:
            while len(entries) >= _MOST:
                del entries[next(iter(entries))]
            entries[key] = value

    def __len__(self) -> int:
        return len(self._lists)

    def clear(self) -> None:
        with self._lock:
            self._lists.clear()
            self.refusals.clear()


def overlap(tensors: "Sequence[torch.Tensor]") -> bool:
    """True if the spans of two tensors in memory, first byte to last, share a byte."""
    spans = []
    for tensor in tensors:
        steps = zip(tensor.shape, tensor.stride(), strict=True)
        length = (sum((size - 1) * stride for size, stride in steps) + 1) * tensor.itemsize
        spans.append((tensor.data_ptr(), tensor.data_ptr() + length))
    return any(end > start for (_, end), (start, _) in pairwise(sorted(spans)))


def refuse_gradient(verb: str, **tensors: "torch.Tensor | None") -> None:
    """Raise ValueError for a tensor that requires grad, unless autograd is off: it does not see kernels."""
    for name, tensor in tensors.items():
        if tensor is None or not tensor.requires_grad:
            continue
        import torch

        if torch.is_grad_enabled():
            raise ValueError(
                f"{verb} has no gradient and {name} requires one: kernels.layer.linear has it; else give "
                f"{name}.detach(), or call {verb} in torch.no_grad()"
            )


def token(thing: Hashable) -> int:
    """A number of equal things, unique in this process."""
    entry = _by_identity.get(id(thing))
    if entry is not None and entry[0] is thing:
        return entry[1]
    if len(_by_identity) >= _MOST_TOKENS:
        _by_identity.clear()
    number = interned(thing)
    # The entry keeps the thing alive: nothing else can have its identity.
    _by_identity[id(thing)] = (thing, number)
    return number


def interned(value: Hashable) -> int:
    """A number of equal values: a shorter key."""
    if len(_by_value) >= _MOST_TOKENS:
        # Numbers are never reused: earlier values get new ones, for one more first call.
        _by_value.clear()
    return _by_value.setdefault(value, next(_numbers))


def layout_key(x: "torch.Tensor | None") -> Hashable:
    """Key of a tensor: shape, strides, dtype, device and alignment.

    Triton compiles for addresses at multiples of 16 bytes, and TMA needs them.
    """
    if x is None:
        return None
    return x.shape, x.stride(), x.dtype, x.get_device(), not x.data_ptr() % TMA_BYTES


def scalar_kind(scalar: "int | torch.Tensor | None") -> Hashable:
    """Key of a seed: whether Triton compiles it with 64 bits. quantize_kernel does not specialize seeds."""
    if not isinstance(scalar, int):
        return layout_key(scalar)
    return scalar >= 1 << 31
