"""Compiles what a check will launch, ahead of it, in helper processes.

They begin with the first kernel that the check has to compile itself: where all are compiled, none is needed.
They have ended before the check measures speed. Nothing that they do or fail to do changes a verdict: the
check takes their code from the disk where it finds it, and compiles what is missing.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any

from kernels.check.compiling.codes import Code
from kernels.check.compiling.helpers import Helpers
from kernels.check.steps import Step
from kernels.device import Device, DeviceKind, Unsupported, compiles_only, current_device
from kernels.faults import BREAKAGE, triton_errors

PATIENCE_S = 30.0
"""Seconds in which helpers finish something, or are ended. A GEMM with its quantizers takes a few."""


class Ahead:
    """Helpers for the steps of a check; none where their number is 0, or where kernels are interpreted."""

    def __init__(self, steps: Sequence[Step], helpers: int = 0) -> None:
        self._steps, self._count = steps, helpers
        self._helpers: Helpers | None = None
        self._device: Device | None = None
        self._listened: Callable[..., None] | None = None

    def __enter__(self) -> "Ahead":
        if self._count and any(step.codes for step in self._steps):
            with suppress(Unsupported):
                device = current_device()
                self._device = device if device.kind is DeviceKind.GPU else None
        if self._device is not None:
            from triton import knobs

            self._listened, knobs.compilation.listener = knobs.compilation.listener, self._hear
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def end(self, tell: Callable[[int], None]) -> None:
        """Let the helpers finish, and end them. tell(how many parts are left) as they come.

        Each part that they finish side by side is one less that the check compiles alone.
        """
        if self._helpers is not None:
            self._helpers.wait(PATIENCE_S, tell)
        self._stop()

    def _stop(self) -> None:
        if self._device is not None:
            from triton import knobs

            knobs.compilation.listener, self._device = self._listened, None
        if self._helpers is not None:
            self._helpers.stop()
            self._helpers = None

    def _hear(self, *, cache_hit: bool, **told: Any) -> None:
        """Hear of a kernel that this process compiled, or found."""
        if self._listened is not None:
            self._listened(cache_hit=cache_hit, **told)
        if not cache_hit and self._helpers is None and self._device is not None:
            device = self._device
            codes = [code for step in self._steps if step.codes for code in step.codes(device)]
            with suppress(OSError):  # no more processes here: the check goes on alone
                self._helpers = Helpers(partial(compiled, device), dict.fromkeys(codes), self._count)


def compiled(device: Device, code: Code) -> None:
    """Compile a part of a check, in a helper. The check meets a fault itself, and tells it."""
    from kernels.launching.compile_only import compile_only

    if not compiles_only():
        compile_only(device)
    with suppress(MemoryError, *BREAKAGE, *triton_errors()):
        code.launch(device)
