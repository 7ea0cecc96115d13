"""Times of a step's pieces by CUDA events, where torch's profiler sees no kernels on a machine."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from statistics import median

import torch

from kernels.layer.timeline.labels import Label, Piece
from kernels.layer.timeline.row import KernelRun, Phase, Role
from kernels.layer.timeline.ways import Ready

_US_A_MS = 1e3
_LEAST_US = 1e-3


@dataclass
class Events:
    """Events around each piece that launches kernels. A piece around others, such as forward, has none."""

    pieces: list[tuple[Piece, torch.cuda.Event, torch.cuda.Event]] = field(default_factory=list)
    _open: list[Label] = field(default_factory=list)

    @contextmanager
    def __call__(self, label: Label) -> Iterator[Piece]:
        if label.phase is None and self._open:
            label = replace(label, phase=self._open[-1].phase)
        piece = Piece(label)
        self._open.append(label)
        try:
            if label.role is Role.OTHER:
                yield piece
                return
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            yield piece
            end.record()
            self.pieces.append((piece, start, end))
        finally:
            self._open.pop()


def by_events(one: Ready, steps: int) -> tuple[KernelRun, ...]:
    """The pieces of a way's step, each as one kernel; times are medians over several steps in a row."""
    taken: list[Sequence[tuple[Piece, torch.cuda.Event, torch.cuda.Event]]] = []
    for _ in range(steps):
        events = Events()
        one.step(events)
        taken.append(events.pieces)
    torch.cuda.synchronize()
    found: list[KernelRun] = []
    end = 0.0
    for place, (piece, *_) in enumerate(taken[0]):
        own = [step[place] for step in taken]
        first = [step[0][1] for step in taken]
        start = median(
            before.elapsed_time(each[1]) * _US_A_MS for before, each in zip(first, own, strict=True)
        )
        time = max(median(each[1].elapsed_time(each[2]) for each in own) * _US_A_MS, _LEAST_US)
        label = piece.label
        assert label is not None, "every piece was told of"
        end = max(start, end) if found else 0.0
        found.append(
            KernelRun(
                name=label.what,
                what=label.what,
                role=label.role,
                phase=label.phase or Phase.FORWARD,
                start_us=round(end, 3),
                time_us=round(time, 3),
                bytes=label.bytes,
                flop=label.flop,
                piece_bytes=label.bytes,
            )
        )
    return tuple(found)
