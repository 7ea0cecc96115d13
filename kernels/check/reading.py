"""What was read of a GPU under load (Reading), and why its clock was held down, in words."""

from dataclasses import dataclass
from enum import IntFlag

from kernels.nvml import Gauges


class Held(IntFlag):
    """Bits of NVML's nvmlClocksEventReasons that say that something slows work."""

    APPLICATION_CLOCKS = 1 << 1
    SW_POWER_CAP = 1 << 2
    HW_SLOWDOWN = 1 << 3
    SYNC_BOOST = 1 << 4
    SW_THERMAL = 1 << 5
    HW_THERMAL = 1 << 6
    POWER_BRAKE = 1 << 7


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The clock and power of the moment of highest power, the limit, and why the clock was held down, as a
    phrase; empty where nothing says so.
    """

    clock_mhz: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    held_by: str = ""


def reading_of(gauges: Gauges) -> Reading:
    """What the gauges of a busy GPU amount to."""
    return Reading(
        clock_mhz=gauges.clock_mhz,
        power_w=gauges.power_w,
        power_limit_w=gauges.power_limit_w,
        held_by=held_by(gauges.reasons or 0, gauges.power_limit_w),
    )


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
