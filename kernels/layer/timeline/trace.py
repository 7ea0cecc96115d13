"""Kernels out of torch's profile: when each ran, for how long, and which piece of a step launched it.

The profile is read as torch.profiler exports it, in Chrome's trace format (times in microseconds).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from kernels.layer.timeline.labels import Label, Told
from kernels.layer.timeline.row import KernelRun, Phase, Role

_KERNEL, _MEMORY = "kernel", ("gpu_memset", "gpu_memcpy")
_MARK = "user_annotation"
_AMAX, _ACTIVATION, _KEEPS = "amax_kernel", "fused_kernel", "record_kernel"
"""Names of our kernels: of a pass for the amax, of SwiGLU, which may write bf16 alone, and of what keeps an
amax for later steps.
"""
_LONGEST_NAME = 120


class NoKernels(Exception):
    """Raised where torch's profiler saw no kernel: CUPTI does not work on this machine."""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A kernel, or a fill or copy of memory, as the GPU ran it. bytes: of a fill or a copy, else None."""

    name: str
    start_us: float
    time_us: float
    is_kernel: bool
    bytes: int | None = None


def profiled(run: Callable[[], object]) -> dict[str, Any]:
    """The profile of a call, which ends when the GPU has done its work."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.synchronize()
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    # Without acc_events torch warns that a second cycle would drop the events of this one.
    with profile(activities=activities, acc_events=True) as taken:
        run()
        torch.cuda.synchronize()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        taken.export_chrome_trace(str(path))
        return json.loads(path.read_text(encoding="utf-8"))


def ran(trace: Mapping[str, Any]) -> list[Ran]:
    """What the GPU ran, in the order of starts. Raises NoKernels for nothing."""
    found = [
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
    if not any(each.is_kernel for each in found):
        raise NoKernels("torch's profiler saw no kernel on this GPU")
    return sorted(found, key=lambda each: each.start_us)


def labelled(trace: Mapping[str, Any], told: Told) -> list[KernelRun]:
    """The kernels of a step that was told of piece by piece. Their starts mean nothing: it was halted."""
    windows = []
    for event in trace["traceEvents"]:
        if event.get("ph") != "X" or event.get("cat") != _MARK:
            continue
        label = told.label(event["name"])
        if label is not None:
            start = float(event["ts"])
            windows.append((start, start + float(event["dur"]), label))
    pieces: dict[int, list[Ran]] = {}
    labels: dict[int, Label] = {}
    for each in ran(trace):
        middle = each.start_us + each.time_us / 2
        around = [window for window in windows if window[0] <= middle <= window[1]]
        start, _, label = min(around, key=lambda window: window[1] - window[0], default=_NOWHERE)
        pieces.setdefault(id(label), []).append(each)
        labels[id(label)] = label
    runs = [run for key, inside in pieces.items() for run in _runs(inside, labels[key])]
    return sorted(runs, key=lambda run: run.start_us)


_NOWHERE = (0.0, 0.0, Label(what="", role=Role.OTHER, phase=Phase.FORWARD))


def _runs(inside: Sequence[Ran], label: Label) -> Iterable[KernelRun]:
    """The kernels of a piece, with its words and bytes as far as they are each one's."""
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
            # Where SwiGLU is written in bf16 first, its amax is of that, and not of what the piece reads.
            of_read = role is Role.QUANTIZE or len(others) == 1
            bytes_, what = label.read if of_read else None, f"{what}: amax"
            bytes_ = bytes_ if label.amax_read is None else label.amax_read
        elif len(others) == 1:
            bytes_ = label.bytes
        else:
            what = f"{what}: {short(each.name)}"
            if role is Role.FUSED:
                role = Role.ACTIVATION if each.name == _ACTIVATION else Role.QUANTIZE
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


_LEAST_US = 1e-3


def short(name: str) -> str:
    """A kernel's name without its namespaces, template arguments and parameters."""
    return name.removeprefix("void ").partition("<")[0].partition("(")[0].rpartition("::")[2] or name


def timed(labels: Sequence[KernelRun], runs: Sequence[Ran], steps: int) -> tuple[KernelRun, ...] | None:
    """The labelled kernels with their median times over several steps in a row.

    None where the steps did not run these kernels in this order: nobody knows then which is which. A tape
    fills memory by a Memset where torch has a kernel, so any fill stands for any other. A graph may fill more
    or less of it, so fills are left out where only their number differs. A tape also keeps the amax of two
    tensors by one kernel, at the end of a way.
    """
    found = _timed(labels, runs, steps)
    if found is not None:
        return found
    labels = [label for label in labels if not _is_fill(label.name)]
    runs = [each for each in runs if each.is_kernel and not _is_fill(each.name)]
    return _timed(labels, runs, steps) or _timed(_kept_as_by_a_tape(labels, runs, steps), runs, steps)


def _kept_as_by_a_tape(labels: Sequence[KernelRun], runs: Sequence[Ran], steps: int) -> list[KernelRun]:
    """The labels, with one for a kernel that keeps an amax wherever a step has such a kernel; none where they
    are not those of the other kernels. The kernel before it says in which half of the step it is.
    """
    keeps = [label for label in labels if label.name.endswith(_KEEPS)]
    others = [label for label in labels if not label.name.endswith(_KEEPS)]
    step = runs[: len(runs) // steps]
    if not keeps or sum(not each.name.endswith(_KEEPS) for each in step) != len(others):
        return []
    made: list[KernelRun] = []
    for each in step:
        if each.name.endswith(_KEEPS):
            phase = made[-1].phase if made else keeps[0].phase
            made.append(replace(keeps[0], phase=phase, bytes=None, piece_bytes=None))
        else:
            made.append(others.pop(0))
    return made


_FILL, _TORCH_FILL = "Mem", "FillFunctor<"
"""How CUPTI names fills and copies of memory, and what names of torch's kernels that fill it have."""


def _is_fill(name: str) -> bool:
    return name.startswith(_FILL) or _TORCH_FILL in name


def _alike(one: str, other: str) -> bool:
    """True for names of one kernel, or of two fills."""
    one, other = one[:_LONGEST_NAME], other[:_LONGEST_NAME]
    return one == other or (_is_fill(one) and _is_fill(other))


def _timed(labels: Sequence[KernelRun], runs: Sequence[Ran], steps: int) -> tuple[KernelRun, ...] | None:
    count = len(labels)
    if not count or len(runs) != count * steps:
        return None
    each_step = [runs[count * step : count * (step + 1)] for step in range(steps)]
    found, end = [], 0.0
    for place, label in enumerate(labels):
        own = [step[place] for step in each_step]
        if not all(_alike(each.name, label.name) for each in own):
            return None
        start = median(each.start_us - step[0].start_us for each, step in zip(own, each_step, strict=True))
        stop = start + median(each.time_us for each in own)
        # A kernel may be launched early, to be ready when the one before it ends: until then it waits.
        start = max(start, end)
        time = max(stop - start, _LEAST_US)
        end = max(end, stop)
        what = label.what.replace(short(label.name), short(own[0].name))  # as this fill is named
        ran_as = replace(label, name=own[0].name[:_LONGEST_NAME], what=what)
        found.append(replace(ran_as, start_us=round(start, 3), time_us=round(time, 3)))
    return tuple(found)
