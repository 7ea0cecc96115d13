"""What a measurement was made on (Machine) and how long it took (Timing): plain data, no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Time of one launch in microseconds, over `runs` measurements: hot, each of many launches in a row;
    cold, each of one launch.
    """

    median_us: float
    p20_us: float
    p80_us: float
    runs: int


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What ran it. clock_mhz and power_w are read during the timing; None where nothing tells."""

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
