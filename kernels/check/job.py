"""A check to run (CheckJob): plain data that travels as JSON; importing it needs neither torch nor a GPU."""

from dataclasses import dataclass

from kernels.typed import whole

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
        if not whole(self.device, 0, MAX_DEVICE):
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
