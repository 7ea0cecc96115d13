"""One try of a launch before it is timed."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

REFUSALS = (ValueError, RuntimeError, NotImplementedError, AttributeError, TypeError)
"""What torch raises for what it does not do: TORCH_CHECK_VALUE, TORCH_CHECK, TORCH_CHECK_NOT_IMPLEMENTED, and
an older torch that lacks the function or one of its arguments. OutOfMemoryError is none of these here."""


def attempt(launch: Callable[[], object], device: "torch.device", *more: type[Exception]) -> Exception | None:
    """Launch once and wait; the error by which torch, or `more`, refuses it, None where it runs.

    Raises torch.OutOfMemoryError.
    """
    import torch

    try:
        launch()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
    except torch.OutOfMemoryError:
        raise
    except (*more, *REFUSALS) as error:
        return error
    return None
