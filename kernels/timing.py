"""Times of GPU work, honestly: contenders take turns, buffers rotate through more than the L2 holds.

A card under load lowers its clock, so what is timed first looks fastest: every round runs each contender
once, A B C A B C …, and a contender's time is the median over the rounds. One turn is a CUDA graph of many
launches, so that the time is the GPU's and not Python's.
"""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

import torch

from kernels.rows import Timing

TURN_US = 20_000.0
MAX_LAUNCHES = 2000
MAX_SETS = 256
_LOAD_US = 300_000.0
_WARM_UP = 3
_SMI_TIMEOUT_S = 5


@dataclass(frozen=True)
class Contender:
    """One operation, as launches that do the same work on different buffers."""

    name: str
    launches: Sequence[Callable[[], object]]


@dataclass(frozen=True, kw_only=True)
class Timings:
    """Time of one launch by contender, and the clock and power read while the first of them ran."""

    by_name: Mapping[str, Timing]
    clock_mhz: float | None
    power_w: float | None


def buffer_sets(bytes_a_set: int, l2_bytes: int) -> int:
    """How many sets of buffers it takes to go beyond twice the L2; at most MAX_SETS, for tiny shapes."""
    return min(MAX_SETS, 1 + 2 * l2_bytes // max(bytes_a_set, 1))


def time_interleaved(
    contenders: Sequence[Contender], rounds: int, between: Callable[[float], None], turn_us: float = TURN_US
) -> Timings:
    """Time the contenders in turns of about turn_us over `rounds` rounds; `between(fraction done)` is called
    before each.
    """
    turns = [_Turn(contender, turn_us) for contender in contenders]
    times: list[list[float]] = [[] for _ in turns]
    clock = power = None
    for number in range(rounds):
        between(number / rounds)
        if number == rounds // 2:
            clock, power = _clock_and_power(turns[0])
        for turn, taken in zip(turns, times, strict=True):
            taken.append(turn.time_us())
    by_name = {turn.name: _timing(taken) for turn, taken in zip(turns, times, strict=True)}
    return Timings(by_name=by_name, clock_mhz=clock, power_w=power)


class _Turn:
    """A CUDA graph of as many launches as fill turn_us."""

    def __init__(self, contender: Contender, turn_us: float) -> None:
        self.name = contender.name
        launches = contender.launches
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for number in range(_WARM_UP):
                launches[number % len(launches)]()
            started, ended = _events()
            started.record(stream)
            for number in range(_WARM_UP):
                launches[number % len(launches)]()
            ended.record(stream)
            ended.synchronize()
        estimate = max(started.elapsed_time(ended) * 1e3 / _WARM_UP, 1.0)
        torch.cuda.current_stream().wait_stream(stream)
        wanted = max(len(launches), int(turn_us / estimate))
        self.count = max(1, min(MAX_LAUNCHES, wanted))
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for number in range(self.count):
                launches[number % len(launches)]()
        self.graph.replay()
        torch.cuda.synchronize()

    def time_us(self) -> float:
        """Microseconds a launch, over one replay."""
        started, ended = _events()
        started.record()
        self.graph.replay()
        ended.record()
        ended.synchronize()
        return started.elapsed_time(ended) * 1e3 / self.count


def _events() -> tuple[torch.cuda.Event, torch.cuda.Event]:
    return torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)


def _timing(taken: list[float]) -> Timing:
    low, high = (taken[0], taken[0]) if len(taken) < 2 else _fifths(taken)
    return Timing(median_us=median(taken), p20_us=low, p80_us=high, runs=len(taken))


def _fifths(taken: list[float]) -> tuple[float, float]:
    fifths = quantiles(taken, n=5, method="inclusive")
    return fifths[0], fifths[-1]


def _clock_and_power(turn: _Turn) -> tuple[float | None, float | None]:
    """SM clock in MHz and power in W as nvidia-smi reads them under this load; None where it cannot."""
    for _ in range(1 + int(_LOAD_US / (turn.time_us() * turn.count))):
        turn.graph.replay()
    index = torch.cuda.current_device()
    query = ["nvidia-smi", "--query-gpu=clocks.sm,power.draw", "--format=csv,noheader,nounits"]
    uuid = str(torch.cuda.get_device_properties(index).uuid)
    try:
        answer = subprocess.run(
            [*query, f"--id=GPU-{uuid}"], capture_output=True, text=True, timeout=_SMI_TIMEOUT_S, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        answer = ""
    torch.cuda.synchronize()
    fields = [_number(field) for field in answer.split(",")]
    return (fields[0], fields[1]) if len(fields) == 2 else (None, None)


def _number(field: str) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None
