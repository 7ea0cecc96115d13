"""Saved: y, and the tensors for its backward, with all that the forward wrote in one memory.

Each saved tensor costs an allocation and a part of a key, and under torch.utils.checkpoint 10 µs a step.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import NamedTuple

import torch

from kernels.launching.launch import empty, moved
from kernels.layer.calls import Parts

_ALIGNMENT = 512
"""Bytes; torch's allocator aligns memory so."""


class Place(NamedTuple):
    """A contiguous tensor in a memory uint8[bytes], from byte `start` on."""

    start: int
    dtype: torch.dtype
    shape: tuple[int, ...]

    def of(self, memory: torch.Tensor) -> torch.Tensor:
        stop = self.start + self.dtype.itemsize * prod(self.shape)
        return memory[self.start : stop].view(self.dtype).view(self.shape)


Places = tuple[tuple[Place | int | None, ...], ...]
"""Groups of tensors for a backward: places in the first saved tensor; all else stands for the next other."""


class Saved(NamedTuple):
    """The value of a forward. tensors: the memory if there are places, then the others, in their order."""

    y: torch.Tensor
    tensors: Sequence[torch.Tensor]
    places: Places

    @property
    def parts(self) -> Sequence[torch.Tensor]:
        return self.y, *self.tensors

    def like(self) -> "Callable[[Sequence[torch.Tensor]], Saved]":
        """A function from other `parts` to such a value."""
        places = self.places
        return lambda parts: Saved(parts[0], parts[1:], places)


def aligned_bytes(tensor: torch.Tensor) -> int:
    return -(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT


def pack(y: torch.Tensor, groups: Iterable[Parts], inputs: Iterable[torch.Tensor]) -> Saved:
    """Tensors that are inputs stay apart; later calls write all others into their places at once."""
    apart, own, places, start = {id(each) for each in inputs}, [], [], 0
    others = []
    for group in groups:
        row: list[Place | None] = []
        for each in group:
            if id(each) in apart:
                others.append(each)
                row.append(None)
                continue
            own.append((each, place := Place(start, each.dtype, tuple(each.shape))))
            row.append(place)
            start += aligned_bytes(each)
        places.append(tuple(row))
    memory = [empty((start,), torch.uint8, own[0][0].device)] if own else []
    for each, place in own:
        moved(each, place.of(memory[0]))
    return Saved(y, [*memory, *others], tuple(places))


def unpack(tensors: Sequence[torch.Tensor], places: Places) -> list[Parts]:
    """The groups of a Saved."""
    rest: Iterator[torch.Tensor] = iter(tensors)
    memory = next(rest) if any(isinstance(place, Place) for group in places for place in group) else None
    return [
        [place.of(memory) if isinstance(place, Place) else next(rest) for place in group] for group in places
    ]
