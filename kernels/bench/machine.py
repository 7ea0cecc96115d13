"""The machine of a measurement (Machine) and the time of a launch (Timing): plain data, no torch."""

from dataclasses import dataclass

from kernels.typed import Count, Positive


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Time of one launch in microseconds, over `runs` measurements.

    A hot measurement is of many launches in a row, a cold one of a single launch.
    """

    median_us: Positive
    p20_us: Positive
    p80_us: Positive
    runs: Count


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine that ran a job. clock_mhz and power_w are read during the timing; None where they are
    unknown.
    """

    name: str
    capability: tuple[Count, Count] | None
    versions: dict[str, str]
    clock_mhz: float | None = None
    power_w: float | None = None
