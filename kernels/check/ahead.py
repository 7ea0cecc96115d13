"""Compile what a check will launch, ahead of it, in other processes.

They begin with the first kernel that the check has to compile itself: where all are compiled, none is needed.
They have ended before the check measures speed.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from kernels.check.steps import Step
from kernels.device import Device, DeviceKind, Unsupported, current_device
from kernels.precompile import Precompile


class Ahead:
    """Processes for the steps of a check; none where their number is 0, or where kernels are interpreted."""

    def __init__(self, steps: Sequence[Step], processes: int = 0) -> None:
        self._steps, self._processes = steps, processes
        self._pool: Precompile | None = None
        self._device: Device | None = None
        self._listener: Callable[..., None] | None = None

    def __enter__(self) -> "Ahead":
        if self._processes and any(step.codes for step in self._steps):
            with suppress(Unsupported):
                device = current_device()
                self._device = device if device.kind is DeviceKind.GPU else None
        if self._device is not None:
            from triton import knobs

            self._listener, knobs.compilation.listener = knobs.compilation.listener, self._hear
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def end(self, tell: Callable[[int], None]) -> None:
        """Let the processes finish, and end them. tell(how many parts are left) as they come.

        Each part that they finish side by side is one less that the check compiles alone.
        """
        if self._pool is not None:
            self._pool.wait(tell)
        self._stop()

    def _stop(self) -> None:
        if self._device is not None:
            from triton import knobs

            knobs.compilation.listener, self._device = self._listener, None
        if self._pool is not None:
            self._pool.stop()
            self._pool = None

    def _hear(self, *, cache_hit: bool, **more: Any) -> None:
        """Hear of a kernel that this process compiled, or found."""
        if self._listener is not None:
            self._listener(cache_hit=cache_hit, **more)
        if not cache_hit and self._pool is None and self._device is not None:
            device = self._device
            codes = [code for step in self._steps if step.codes for code in step.codes(device)]
            with suppress(OSError):  # no more processes here: the check goes on alone
                self._pool = Precompile(self._processes, device)
                for code in codes:
                    self._pool.submit(*code)
