"""The machine of a measurement (Machine) and the time of a launch (Timing): plain data, no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernels.typed import checked, positive


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Time of one launch in microseconds, over `runs` measurements.

    A hot measurement is of many launches in a row, a cold one of a single launch.
    """

    median_us: float
    p20_us: float
    p80_us: float
    runs: int

    @classmethod
    def from_dict(cls, name: str, data: Mapping[str, Any] | None) -> "Timing | None":
        """What asdict made of a time, or None for none; `name` says whose it is. Raises ValueError for
        anything else.
        """
        if data is None:
            return None
        if not isinstance(data, Mapping):
            raise ValueError(f"{name} is an object or null, got {data!r}")
        try:
            timing = checked(cls(**data))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name}: {error}") from error
        positive(f"a time of {name}", timing.median_us, timing.p20_us, timing.p80_us)
        return timing


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine that ran a job. clock_mhz and power_w are read during the timing; None where they are
    unknown.
    """

    name: str
    capability: tuple[int, int] | None
    versions: dict[str, str]
    clock_mhz: float | None = None
    power_w: float | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Machine":
        """What asdict made this of. Raises KeyError or TypeError for anything else."""
        fields = dict(data)
        fields["capability"] = tuple(fields["capability"]) if fields["capability"] else None
        return cls(**fields)
