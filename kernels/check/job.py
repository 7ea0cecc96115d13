"""A check to run (CheckJob): plain data that travels as JSON; importing it needs neither torch nor a GPU."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

MAX_DEVICE = 1023


@dataclass(frozen=True, kw_only=True)
class CheckJob:
    """Check one GPU; `quick` checks Fprop only.

    `device` counts the GPUs that the running process may use: a worker has one, number 0. Raises ValueError
    where a field is outside its range.
    """

    quick: bool = False
    device: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.quick, bool):
            raise ValueError(f"quick is true or false, got {self.quick!r}")
        is_number = isinstance(self.device, int) and not isinstance(self.device, bool)
        if not is_number or not 0 <= self.device <= MAX_DEVICE:
            raise ValueError(f"the device is a whole number from 0 to {MAX_DEVICE}, got {self.device!r}")

    @property
    def title(self) -> str:
        """What runs, for a list of runs."""
        of = f" of GPU {self.device}" if self.device else ""
        return f"{'Quick sanity' if self.quick else 'Sanity'} check{of}"

    @property
    def size(self) -> str:
        """The fields that decide how much memory it needs, and their values."""
        return "a quick check" if self.quick else "a full check"

    @property
    def size_advice(self) -> str:
        """Advice on how to need less memory."""
        return "Free memory on the GPU (no check is smaller)"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "CheckJob":
        """The inverse of to_dict. Raises ValueError for what a job cannot be."""
        try:
            return cls(**data)
        except TypeError as error:
            raise ValueError(f"a check has the fields quick and device: {error}") from error
