"""Value of a forward: y, and the tensors for its backward, with all that the forward wrote in one of them.

Each saved tensor costs an allocation and a part of a key, and under torch.utils.checkpoint 9 to 10 µs a step
(torch 2.13 on a CPU, 2026-11-29).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import NamedTuple

import torch

from kernels.launching.launch import copied, empty
from kernels.launching.trace import aligned
from kernels.layer.calls import Parts


class Span(NamedTuple):
    """A contiguous tensor in a uint8[bytes], from byte `start` on."""

    start: int
    dtype: torch.dtype
    shape: tuple[int, ...]

    def of(self, packed: torch.Tensor) -> torch.Tensor:
        stop = self.start + self.dtype.itemsize * prod(self.shape)
        return packed[self.start : stop].view(self.dtype).view(self.shape)


Spans = tuple[tuple[Span | int | None, ...], ...]
"""For each tensor of a group its span in the first saved tensor; else it is the next of the other tensors."""


class Saved(NamedTuple):
    """The value of a forward. tensors: uint8[bytes] if there are spans, then the others, in their order."""

    y: torch.Tensor
    tensors: Sequence[torch.Tensor]
    spans: Spans

    @property
    def parts(self) -> Sequence[torch.Tensor]:
        return self.y, *self.tensors

    def like(self) -> "Callable[[Sequence[torch.Tensor]], Saved]":
        """A function from other `parts` to such a value."""
        spans = self.spans
        return lambda parts: Saved(parts[0], parts[1:], spans)


def pack(y: torch.Tensor, groups: Iterable[Parts], inputs: Iterable[torch.Tensor]) -> Saved:
    """Copy all tensors but inputs into one. A cached call writes them there directly."""
    numbers, own, others, spans, start = {id(each) for each in inputs}, [], [], [], 0
    for group in groups:
        row: list[Span | None] = []
        for each in group:
            if id(each) in numbers:
                others.append(each)
                row.append(None)
                continue
            own.append(each)
            row.append(Span(start, each.dtype, tuple(each.shape)))
            start += aligned(each.nbytes)
        spans.append(tuple(row))
    packed = [empty((start,), torch.uint8, own[0].device)] if own else []
    for each, span in zip(own, [span for row in spans for span in row if span], strict=True):
        copied(each, span.of(packed[0]))
    return Saved(y, [*packed, *others], tuple(spans))


def unpack(tensors: Sequence[torch.Tensor], spans: Spans) -> list[Parts]:
    """The groups of a Saved."""
    rest: Iterator[torch.Tensor] = iter(tensors)
    packed = next(rest) if any(isinstance(span, Span) for group in spans for span in group) else None
    return [[span.of(packed) if isinstance(span, Span) else next(rest) for span in group] for group in spans]
