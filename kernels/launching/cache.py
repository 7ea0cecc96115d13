"""Launch lists by the key of a call, and the refusal of tensors that require a gradient."""

from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
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


class LaunchCache:
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
        to = self._driver(key, inputs)
        if to is None:
            return run()
        trace = Trace(inputs, scalars)
        with tracing(trace):
            value = run()
        try:
            self._keep(self._lists, key, trace.launch_list(to, inputs[0].get_device(), value))
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
