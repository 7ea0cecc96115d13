"""What nvidia-smi says of GPUs, at rest and under load; None where there is no nvidia-smi or it cannot tell.

Names of its fields: docs.nvidia.com/deploy/nvidia-smi. Reasons that hold the clock down are a bit mask, named
as NVML's nvmlClocksEventReasons.
"""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntFlag
from types import TracebackType

Ask = Callable[[Sequence[str]], str]

_PROGRAM = "nvidia-smi"
_FORMAT = "--format=csv,noheader,nounits"
_UUID = "uuid"
_TIMEOUT_S = 10
_EVERY_MS = 50
_REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")


class Held(IntFlag):
    """Reasons that hold the clock down, of those that slow work."""

    APPLICATION_CLOCKS = 1 << 1
    SW_POWER_CAP = 1 << 2
    HW_SLOWDOWN = 1 << 3
    SYNC_BOOST = 1 << 4
    SW_THERMAL = 1 << 5
    HW_THERMAL = 1 << 6
    POWER_BRAKE = 1 << 7


def ask(arguments: Sequence[str]) -> str:
    """What nvidia-smi prints; empty where it is missing, fails or hangs."""
    try:
        done = subprocess.run(
            [_PROGRAM, *arguments], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def query(fields: Sequence[str], ask: Ask, uuid: str = "") -> list[list[str]]:
    """One row of texts a GPU, of all GPUs or of the one with this uuid."""
    which = [f"--id={uuid}"] if uuid else []
    answer = ask([f"--query-gpu={','.join((_UUID, *fields))}", _FORMAT, *which])
    rows = [[cell.strip() for cell in line.split(",")] for line in answer.splitlines()]
    return [row[1:] for row in rows if len(row) == 1 + len(fields) and names_gpu(row[0])]


def names_gpu(text: str) -> bool:
    """Whether a cell is a GPU's uuid: nvidia-smi says there what it has to say of no GPU too, such as "No
    devices were found", and with exit code 0.
    """
    return text.startswith("GPU-")


def number(text: str) -> float | None:
    """A cell as a number; None for [N/A] and its like."""
    try:
        return float(text)
    except ValueError:
        return None


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Under load: the clock and power of the moment of highest power, the limit, and why the clock was held
    down, as a phrase; empty where nothing says so.
    """

    clock_mhz: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    held_by: str = ""


class Watch:
    """Reads a GPU's clock and power over and over while its `with` block runs; then `reading` has them."""

    def __init__(self, uuid: str) -> None:
        self.reading = Reading()
        self._uuid = uuid
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Watch":
        fields = ["clocks.sm", "power.draw", "power.limit", reasons_field(ask, self._uuid)]
        which = [f"--id={self._uuid}"] if self._uuid else []
        command = [_PROGRAM, f"--query-gpu={','.join(filter(None, fields))}", _FORMAT, *which]
        try:
            self._process = subprocess.Popen(
                [*command, f"--loop-ms={_EVERY_MS}"],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        except OSError:
            self._process = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            out, _ = self._process.communicate(timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            out, _ = self._process.communicate()
        self.reading = read(out)


def reasons_field(ask: Ask, uuid: str = "") -> str:
    """This driver's name for the reasons that hold the clock down; empty where it has none."""
    return next((name for name in _REASONS if _is_mask(query([name], ask, uuid))), "")


def _is_mask(rows: list[list[str]]) -> bool:
    return bool(rows) and rows[0][0].startswith("0x")


def read(output: str) -> Reading:
    """What lines of clock, power, limit and, last, reasons amount to."""
    rows = [[cell.strip() for cell in line.split(",")] for line in output.splitlines()]
    full = [row for row in rows if len(row) in (3, 4)]
    if not full:
        return Reading()
    top = max(full, key=lambda row: number(row[1]) or 0.0)
    masks = [row[3] for row in full if len(row) == 4]
    return Reading(
        clock_mhz=number(top[0]),
        power_w=number(top[1]),
        power_limit_w=number(top[2]),
        held_by=held_by(_union(masks), number(top[2])),
    )


def _union(masks: list[str]) -> int:
    union = 0
    for mask in masks:
        try:
            union |= int(mask, 0)
        except ValueError:
            continue
    return union


def held_by(mask: int, power_limit_w: float | None) -> str:
    """The bits of a mask of reasons as a phrase, the gravest first."""
    limit = f" at {power_limit_w:g} W" if power_limit_w else ""
    known = (
        (Held.HW_THERMAL | Held.SW_THERMAL, "too hot"),
        (Held.POWER_BRAKE, "held by the server's power brake"),
        (Held.SW_POWER_CAP, f"power-capped{limit}"),
        (Held.HW_SLOWDOWN, "slowed by the hardware"),
        (Held.APPLICATION_CLOCKS, "clocks fixed by a setting"),
        (Held.SYNC_BOOST, "held to the clock of another GPU"),
    )
    return " and ".join(phrase for bits, phrase in known if mask & bits)
