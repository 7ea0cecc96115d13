"""Kernels from torch's profile: start and time of each, and the piece of a step that launched it.

A mark around each piece waits for the GPU at both its ends. torch.profiler exports Chrome's trace format,
with times in microseconds.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from kernels.device import Unsupported
from kernels.layer.timeline.row import KernelRun, Phase, Role

_PREFIX = "fp8 explorer, piece "
_KERNEL, _MEMORY = "kernel", ("gpu_memset", "gpu_memcpy")
_MARK = "user_annotation"
_AMAX = "amax_kernel"
_FILL, _TORCH_FILL = "Mem", "FillFunctor<"
"""CUPTI's fills and copies begin with Mem; names of torch's fills contain the second."""
_LONGEST_NAME = 120
_LEAST_US = 1e-3


@dataclass(eq=False)
class Piece:
    """A piece of a step, with one kernel or several.

    - read, written: bytes of operands and results, if counted. flop: of a matmul.
    - phase: by default that of the piece around it.
    """

    what: str
    role: Role
    read: int | None = None
    written: int | None = None
    flop: int | None = None
    phase: Phase | None = None

    @property
    def bytes(self) -> int | None:
        return None if self.read is None or self.written is None else self.read + self.written


class Pieces:
    def __init__(self) -> None:
        self.every: list[Piece] = []
        self.open: list[Piece] = []

    @contextmanager
    def __call__(self, piece: Piece) -> Iterator[Piece]:
        if piece.phase is None and self.open:
            piece.phase = self.open[-1].phase
        mark = f"{_PREFIX}{len(self.every)}"
        self.every.append(piece)
        self.open.append(piece)
        wait()
        try:
            with torch.profiler.record_function(mark):
                yield piece
                wait()
        finally:
            self.open.pop()

    def of(self, mark: str) -> Piece | None:
        return self.every[int(mark.removeprefix(_PREFIX))] if mark.startswith(_PREFIX) else None


class EachOperation(TorchDispatchMode):
    """Makes each of torch's operations, one kernel, a piece within its piece."""

    def __init__(self, pieces: Pieces) -> None:
        super().__init__()
        self._pieces = pieces

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        around, options = (self._pieces.open or [None])[-1], kwargs or {}
        launches = func.namespace == "aten" and not func.is_view
        if around is None or around.role is Role.MATMUL or not launches:
            return func(*args, **options)
        name = func.overloadpacket.__name__.strip("_").replace("_", " ")
        own = replace(around, what=f"{around.what}: {name}", read=bytes_of((args, options)))
        with self._pieces(own) as piece:
            result = func(*args, **options)
            piece.written = bytes_of(result)
        return result


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def bytes_of(things: Any) -> int:
    """Bytes of all tensors among things, without repetition."""
    tensors = [each for each in tree_leaves(things) if isinstance(each, torch.Tensor)]
    return sum({(each.data_ptr(), each.numel()): each.numel() * each.itemsize for each in tensors}.values())


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A run of a kernel, or of a fill or copy of memory. bytes: of a fill or a copy."""

    name: str
    start_us: float
    time_us: float
    is_kernel: bool
    bytes: int | None = None


def profiled(run: Callable[[], object]) -> dict[str, Any]:
    torch.cuda.synchronize()
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    # Without acc_events torch warns that a second cycle would drop the events of this one.
    with profile(activities=activities, acc_events=True) as trace:
        run()
        torch.cuda.synchronize()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        trace.export_chrome_trace(str(path))
        return json.loads(path.read_text(encoding="utf-8"))


def ran(trace: Mapping[str, Any]) -> list[Ran]:
    """All runs on the GPU by start. Raises Unsupported if CUPTI does not work."""
    runs = [
        Ran(
            name=event["name"],
            start_us=float(event["ts"]),
            time_us=float(event["dur"]),
            is_kernel=event["cat"] == _KERNEL,
            bytes=event.get("args", {}).get("bytes"),
        )
        for event in trace["traceEvents"]
        if event.get("ph") == "X" and event.get("cat") in (_KERNEL, *_MEMORY)
    ]
    if not any(each.is_kernel for each in runs):
        raise Unsupported("torch's profiler saw no kernel on this GPU")
    return sorted(runs, key=lambda each: each.start_us)


def labelled(trace: Mapping[str, Any], pieces: Pieces) -> list[KernelRun]:
    """The kernels of a marked step. Their starts mean nothing: marks wait."""
    windows = [
        (float(event["dur"]), float(event["ts"]), piece)
        for event in trace["traceEvents"]
        if event.get("ph") == "X" and event.get("cat") == _MARK and (piece := pieces.of(event["name"]))
    ]
    nowhere = (0.0, 0.0, Piece(what="", role=Role.OTHER, phase=Phase.FORWARD))
    inside: dict[Piece, list[Ran]] = defaultdict(list)
    for each in ran(trace):
        middle = each.start_us + each.time_us / 2
        around = [window for window in windows if window[1] <= middle <= window[1] + window[0]]
        *_, piece = min(around, key=lambda window: window[0], default=nowhere)
        inside[piece].append(each)
    runs = [run for piece, own in inside.items() for run in _runs(own, piece)]
    return sorted(runs, key=lambda run: run.start_us)


def _runs(inside: Sequence[Ran], label: Piece) -> Iterable[KernelRun]:
    """A kernel gets the piece's words and bytes if they are its own."""
    kernels = [each for each in inside if each.is_kernel]
    kernels = [each for each in kernels if not _is_fill(each.name)] or kernels
    others = [each for each in kernels if not each.name.endswith(_AMAX)]
    longest = max(kernels, key=lambda each: each.time_us, default=None)
    for each in inside:
        role, what, bytes_ = label.role, label.what, None
        if each not in kernels:
            role = Role.OTHER if role is Role.MATMUL else role
            bytes_, what = each.bytes, f"{what}: {short(each.name)}"
        elif role is Role.MATMUL:
            bytes_ = label.bytes if len(kernels) == 1 else None
            if each is not longest:
                role, what = Role.PASS, f"{what}: {short(each.name)}"
        elif role is Role.OTHER:
            what = short(each.name)
        elif each.name.endswith(_AMAX):
            # An amax of SwiGLU in bf16 does not read the operands of its piece.
            of_read = role is Role.QUANTIZE or len(others) == 1
            bytes_, what = label.read if of_read else None, f"{what}: amax"
        elif len(others) == 1:
            bytes_ = label.bytes
        else:
            what = f"{what}: {short(each.name)}"
            if role is Role.FUSED:
                # The first writes SwiGLU in bf16, and the others quantize that.
                role = Role.ACTIVATION if each is others[0] else Role.QUANTIZE
        yield KernelRun(
            name=each.name[:_LONGEST_NAME],
            what=what,
            role=role,
            phase=label.phase or Phase.FORWARD,
            start_us=each.start_us,
            time_us=max(each.time_us, _LEAST_US),
            bytes=bytes_,
            flop=label.flop if each is longest and label.role is Role.MATMUL else None,
            piece_bytes=label.bytes if each is inside[-1] else None,
        )


def short(name: str) -> str:
    """A name without namespaces, template arguments and parameters."""
    return name.removeprefix("void ").partition("<")[0].partition("(")[0].rpartition("::")[2] or name


def timed(labels: Sequence[KernelRun], runs: Sequence[Ran], steps: int) -> tuple[KernelRun, ...] | None:
    """The labelled kernels with median times over several steps; None if these ran in another order.

    A graph may fill by a Memset instead of torch's kernel, so any fill stands for any other, and fills are
    left out if only their number differs.
    """
    kernels = _timed(labels, runs, steps)
    if kernels is not None:
        return kernels
    labels = [label for label in labels if not _is_fill(label.name)]
    runs = [each for each in runs if each.is_kernel and not _is_fill(each.name)]
    return _timed(labels, runs, steps)


def _is_fill(name: str) -> bool:
    return name.startswith(_FILL) or _TORCH_FILL in name


def _timed(labels: Sequence[KernelRun], runs: Sequence[Ran], steps: int) -> tuple[KernelRun, ...] | None:
    count = len(labels)
    if not count or len(runs) != count * steps:
        return None
    each_step = [runs[count * step : count * (step + 1)] for step in range(steps)]
    kernels, end = [], 0.0
    for label, own in zip(labels, zip(*each_step, strict=True), strict=True):
        names = [each.name[:_LONGEST_NAME] for each in own]
        if not all(name == label.name or (_is_fill(name) and _is_fill(label.name)) for name in names):
            return None
        start = median(each.start_us - step[0].start_us for each, step in zip(own, each_step, strict=True))
        stop = start + median(each.time_us for each in own)
        # A kernel that was launched early waits for the one before it.
        start = max(start, end)
        time = max(stop - start, _LEAST_US)
        end = max(end, stop)
        what = label.what.replace(short(label.name), short(own[0].name))
        kernel = replace(label, name=names[0], what=what)
        kernels.append(replace(kernel, start_us=round(start, 3), time_us=round(time, 3)))
    return tuple(kernels)
