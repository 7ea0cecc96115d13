"""The tapes that are kept, by what makes two calls alike."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kernels.launching.cuda import Cuda, cuda
from kernels.launching.launch import on_record, recording_here
from kernels.launching.parameters import Unprepared, Word
from kernels.launching.tape import Tape

if TYPE_CHECKING:
    import torch

_T = TypeVar("_T")
_KEPT = 1 << 12
_TRIES = 3


@dataclass(frozen=True, kw_only=True)
class Done(Generic[_T]):
    """What a call gave: its value, the tensors in it that the call made, and how others like them become a
    value. `finish` keeps no tensor alive.
    """

    value: _T
    results: "Sequence[torch.Tensor]"
    finish: "Callable[[list[torch.Tensor]], _T]"


class Warm:
    """Tapes by key; the oldest go where there are too many.

    A call that cannot be repeated is tried again: its first try may have made what later ones find. Then it
    is left to Triton.
    """

    def __init__(self) -> None:
        self._tapes: dict[Hashable, Tape] = {}
        self._left: dict[Hashable, list[str]] = {}
        self._lock = Lock()

    def get(self, key: Hashable) -> Tape | None:
        """The tape of calls like this one, if there is one. Inside a recording there is none: its launches
        would be missing on the tape that is made.
        """
        return self._tapes.get(key) if recording_here() is None else None

    def record(
        self,
        key: Hashable,
        tensors: "Sequence[torch.Tensor]",
        words: Sequence[Word],
        run: Callable[[], Done[_T]],
    ) -> _T:
        """What a call gives; its tape is kept."""
        driver = self._driver(key, tensors)
        if driver is None:
            return run().value
        from kernels.launching.recording import Recording

        recording = Recording(driver, tensors[0].get_device(), tensors, words)
        with on_record(recording):
            done = run()
        try:
            self._keep(key, recording.tape(done.results, done.finish))
        except Unprepared as unprepared:
            with self._lock:
                self._make_room(self._left)
                self._left.setdefault(key, []).append(str(unprepared))
        return done.value

    def _driver(self, key: Hashable, tensors: "Sequence[torch.Tensor]") -> Cuda | None:
        """CUDA's driver where a call is to be recorded: on a GPU, with tensors that do not overlap, and not
        inside another recording.
        """
        if not all(tensor.is_cuda and tensor.numel() for tensor in tensors):
            return None
        if recording_here() is not None or len(self.left(key)) >= _TRIES or overlap(tensors):
            return None
        return cuda()

    def _keep(self, key: Hashable, tape: Tape) -> None:
        with self._lock:
            self._make_room(self._tapes)
            self._tapes[key] = tape

    def _make_room(self, kept: dict[Hashable, Any]) -> None:
        while len(kept) >= _KEPT:
            del kept[next(iter(kept))]

    def left(self, key: Hashable) -> Sequence[str]:
        """Why a call is left to Triton, a reason for each try."""
        return self._left.get(key, ())

    def __len__(self) -> int:
        return len(self._tapes)

    def forget(self) -> None:
        """Let all tapes go."""
        with self._lock:
            self._tapes.clear()
            self._left.clear()


def overlap(tensors: "Sequence[torch.Tensor]") -> bool:
    """True where a byte between the first and the last of one tensor lies between those of another."""
    spans = sorted((tensor.data_ptr(), tensor.data_ptr() + span_bytes(tensor)) for tensor in tensors)
    return any(end > start for (_, end), (start, _) in pairwise(spans))


def span_bytes(tensor: "torch.Tensor") -> int:
    """Bytes from the first element of a tensor to its last, both counted."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return (sum((size - 1) * stride for size, stride in steps) + 1) * tensor.itemsize
