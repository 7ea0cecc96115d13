"""A call on record: its kernel launches, its allocations and torch's own operations become a tape.

A tensor of the call is known by its address. Those that the call makes are kept until the end, so that no
two have one address. What cannot be told apart, or cannot be repeated, ends the recording, not the call.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

from kernels.launching.burst import Burst
from kernels.launching.cuda import Cuda
from kernels.launching.launch import tensors_in
from kernels.launching.parameters import Parameter, Unprepared, Word, parameters
from kernels.launching.prepared import Prepared, Source
from kernels.launching.tape import (
    Allocate,
    Clear,
    Operation,
    Part,
    Release,
    Seen,
    Step,
    Supplier,
    Supply,
    Tape,
)

_ATEN = torch.ops.aten
_EMPTY = (_ATEN.empty, _ATEN.empty_strided, _ATEN.empty_like, _ATEN.new_empty, _ATEN.new_empty_strided)
_ZEROS = (_ATEN.zeros, _ATEN.zeros_like, _ATEN.new_zeros)
_SMALL_BYTES = 1 << 20
"""Memory of at most this size is asked for once, for all kernels of a call; what is larger is given back."""
_ALIGNMENT = 512
"""Bytes; torch's allocator gives memory at multiples of it."""


@dataclass(frozen=True)
class _Root:
    """A tensor of the call, or one that is kept: its memory from its first element on."""

    tensor: torch.Tensor | None
    start: int
    end: int


class Recording(TorchDispatchMode):
    """Hears of all that one call does on one device, in the thread that makes the call."""

    def __init__(
        self, cuda: Cuda, device: int, inputs: Sequence[torch.Tensor], words: Sequence[Word]
    ) -> None:
        super().__init__()
        self._cuda, self._device = cuda, device
        self._steps: list[Step] = []
        self._roots = [_root(each) for each in inputs]
        self._counts = len(inputs), len(words)
        self._words = {id(word): len(inputs) + index for index, word in enumerate(words)}
        self._roots += [_Root(None, 0, 0)] * len(words)
        self._kept: list[_Root] = []
        self._allocated: dict[int, Allocate] = {}
        self._looked_at: set[int] = set()
        self._shaped: dict[tuple[Any, ...], Seen] = {}
        self._paused = False
        self.reason = ""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        if not self._paused and not self.reason:
            try:
                self._note(func, args, kwargs or {}, made)
            except Unprepared as unprepared:
                self.reason = str(unprepared)
        return made

    def _note(self, function: Any, arguments: tuple[Any, ...], options: dict[str, Any], made: Any) -> None:
        """Take down one of torch's operations."""
        aliases = [each.alias_info for each in function._schema.returns]
        if aliases and all(alias is not None and not alias.is_write for alias in aliases):
            return  # a view of memory that is known
        if not isinstance(made, torch.Tensor) or made.get_device() != self._device:
            raise Unprepared(f"{function} gives what is no tensor of this device")
        adds = not any(alias is not None for alias in aliases)
        if not adds and not made.numel():
            return  # it writes into nothing, such as the padding of a row that needs none
        packet = function.overloadpacket
        if packet in _EMPTY or packet in _ZEROS:
            self._allocate(made)
            if packet in _ZEROS:
                root = len(self._roots) - 1
                self._steps.append(Clear(self._cuda, root, made.untyped_storage().nbytes()))
            return
        others = [each for each in arguments if not isinstance(each, torch.Tensor)]
        if any(isinstance(leaf, torch.Tensor) for leaf in tree_leaves((others, options))):
            raise Unprepared(f"{function} takes tensors in a list or by name")
        given = tuple(self._seen(each) if isinstance(each, torch.Tensor) else each for each in arguments)
        self._steps.append(Operation(function, given, options, adds=adds))
        if adds:
            self._roots.append(_root(made))

    def _allocate(self, made: torch.Tensor) -> None:
        step = Allocate((made.untyped_storage().nbytes(),), (1,), torch.uint8, made.device)
        self._allocated[len(self._roots)] = step
        self._steps.append(step)
        self._roots.append(_root(made))

    def launched(
        self, kernel: Any, grid: tuple[int, ...], arguments: Sequence[Any], constants: Mapping[str, Any]
    ) -> None:
        """Take down a kernel's launch."""
        if self.reason:
            return
        try:
            named = dict(zip(kernel.src.fn.arg_names, arguments, strict=False)) | dict(constants)
            given = parameters(kernel, named)
            sources = [self._source(each) for each in given]
            self._steps.append(Prepared(self._cuda, kernel, grid, given, sources))
        except Unprepared as unprepared:
            self.reason = str(unprepared)

    def _source(self, parameter: Parameter) -> Source | None:
        if isinstance(parameter.value, Word):
            return Source(root=self._words[id(parameter.value)])
        if parameter.tensor is None:
            return None
        address = parameter.tensor.data_ptr()
        if any(kept.start <= address < kept.end for kept in self._kept):
            return None
        root, offset = self._place(address)
        return Source(root=root, offset=offset)

    def _place(self, address: int) -> tuple[int, int]:
        """(number, bytes from its start) of the tensor that has an address. Raises Unprepared for none.

        Tensors that share memory do not overlap: an address belongs to the one that starts last before it.
        """
        found = [number for number, root in enumerate(self._roots) if root.start <= address < root.end]
        if found:
            number = max(found, key=lambda number: self._roots[number].start)
            return number, address - self._roots[number].start
        raise Unprepared("memory is used that the call was not given and did not ask for")

    def _seen(self, tensor: torch.Tensor) -> Seen | torch.Tensor:
        """How a tensor is found again in another call; itself, if it is kept."""
        address = tensor.data_ptr()
        if any(kept.start <= address < kept.end for kept in self._kept):
            return tensor
        root, offset = self._place(address)
        self._looked_at.add(root)
        size, stride = tuple(tensor.shape), tuple(tensor.stride())
        base = self._roots[root].tensor
        same = root not in self._allocated and base is not None and not offset
        same = same and (base.dtype, tuple(base.shape), base.stride()) == (tensor.dtype, size, stride)
        return Seen(root=root, dtype=tensor.dtype, size=size, stride=stride, offset=offset, same=same)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave what is done here out of the recording."""
        before, self._paused = self._paused, True
        try:
            with _disable_current_modes():
                yield
        finally:
            self._paused = before

    def keep(self, made: Any) -> None:
        """Tensors that never change."""
        self._kept += [_root(each) for each in tensors_in(made)]

    def supplied(self, tensor: torch.Tensor, supplier: Supplier) -> None:
        """Memory of the stream's own."""
        self._steps.append(Supply(supplier, self._device))
        self._roots.append(_root(tensor))

    def tape(self, results: Sequence[torch.Tensor], finish: Callable[[list[torch.Tensor]], Any]) -> Tape:
        """The tape of a call that ended. Raises Unprepared where it cannot be repeated."""
        if self.reason:
            raise Unprepared(self.reason)
        seen = [self._result(each) for each in results]
        kept = tuple(each.tensor for each in self._kept if each.tensor is not None)
        self._gather()
        tensors, integers = self._counts
        made = Tape(
            cuda=self._cuda,
            device=self._device,
            tensors=tensors,
            integers=integers,
            steps=tuple(self._releasing({each.root for each in seen})),
            results=tuple(seen),
            kept=kept,
            finish=finish,
        )
        return Burst(made) if Burst.takes(made) else made

    def _gather(self) -> None:
        """Ask once for the small pieces of memory that only kernels see."""
        roots = [root for root in self._allocated if self._is_small(root)]
        starts, total = {}, 0
        for root in roots:
            starts[root] = total
            total += -(-self._allocated[root].size[0] // _ALIGNMENT) * _ALIGNMENT
        for root in roots if len(roots) > 1 else ():
            step = self._allocated.pop(root)
            whole = Allocate((total,), (1,), torch.uint8, step.device)
            place = self._steps.index(step)
            self._steps[place] = whole if root == roots[0] else Part(roots[0], starts[root])

    def _is_small(self, root: int) -> bool:
        """True for a small piece of memory that the call asked for, and no operation of torch's took."""
        step = self._allocated.get(root)
        return step is not None and step.size[0] <= _SMALL_BYTES and root not in self._looked_at

    def _releasing(self, results: set[int]) -> Iterator[Step]:
        """The steps, and after the last one that reads a large piece of memory, its release."""
        last: dict[int, int] = {}
        for place, step in enumerate(self._steps):
            last |= dict.fromkeys(getattr(step, "reads", ()), place)
        over = {place: [] for place in last.values()}
        for root, place in last.items():
            large = self._roots[root].end - self._roots[root].start > _SMALL_BYTES
            if large and root >= sum(self._counts) and root not in results and place < len(self._steps) - 1:
                over[place].append(Release(root))
        for place, step in enumerate(self._steps):
            yield step
            yield from over.get(place, ())

    def _result(self, result: torch.Tensor) -> Seen:
        """Where a result is found. Memory that was asked for it alone takes its shape at once."""
        seen = self._seen(result)
        if not isinstance(seen, Seen):
            raise Unprepared("a result is kept")
        step = self._allocated.pop(seen.root, None)
        if step is None or seen.offset:
            return self._shaped.get((seen.root, seen.dtype, seen.size, seen.stride, seen.offset), seen)
        bytes_, each = step.size[0], seen.dtype.itemsize
        last = sum((size - 1) * stride for size, stride in zip(seen.size, seen.stride, strict=True))
        rows = 0 if (last + 1) * each == bytes_ else bytes_ // each
        made = Allocate(seen.size, seen.stride, seen.dtype, step.device, rows)
        self._steps[self._steps.index(step)] = made
        whole = replace(seen, same=True)
        self._shaped[seen.root, seen.dtype, seen.size, seen.stride, 0] = whole
        return whole


def _root(tensor: torch.Tensor) -> _Root:
    storage, start = tensor.untyped_storage(), tensor.data_ptr()
    return _Root(tensor, start, storage.data_ptr() + storage.nbytes())
