"""Checks of arguments: each returns its argument, or raises ValueError with one sentence."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

_T = TypeVar("_T")


def whole(what: str, value: Any, low: int | None = None, high: int | None = None) -> int:
    """Check for a whole number, Python's or numpy's, from `low` to `high`; no boolean."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or (low is not None and value < low) or (high is not None and value > high):
        if low is not None and high is not None:
            bounds = f" from {low} to {high}"
        else:
            bounds = f" of at least {low}" if low is not None else ""
        raise ValueError(f"{what} is a whole number{bounds}, got {value!r}")
    return int(value)


def real(what: str, value: Any, low: float = -np.inf, above: float = -np.inf) -> float:
    """Check for a finite number of at least `low`, and above `above`; no boolean."""
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not is_number or not np.isfinite(value) or value < low or value <= above:
        bound = f" of at least {low:g}" if low > -np.inf else ""
        bound += f" above {above:g}" if above > -np.inf else ""
        raise ValueError(f"{what} is a finite number{bound}, got {value!r}")
    return float(value)


def instance(what: str, value: _T, *kinds: type) -> _T:
    """Check for an instance of `kinds`. For an enum, the sentence lists its members."""
    # A protocol asks each value for all its members, which takes longer than to look among the ancestors.
    if not set(kinds).intersection(type(value).__mro__) and not isinstance(value, kinds):
        members = [
            f"{kind.__name__}.{member}" for kind in kinds for member in getattr(kind, "__members__", ())
        ]
        kinds_in_words = members or [kind.__name__ for kind in kinds]
        raise ValueError(f"{what} is {' or '.join(kinds_in_words)}, got {_described(value)}")
    return value


def reals(what: str, x: ArrayLike, ndim: int | None = None) -> NDArray[Any]:
    """Convert to an array of real numbers with `ndim` dims."""
    array = _array(what, x)
    if array.dtype.kind == "b" or not np.can_cast(array.dtype, np.float64, "same_kind"):
        raise ValueError(f"{what} holds real numbers, got {_described(x)}")
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{what} has {ndim} dim{'s' * (ndim != 1)}, got shape {array.shape}")
    return array


def codes_of(name: str, bits: int, codes: ArrayLike) -> NDArray[Any]:
    """Convert to codes of a format: integers in 0..2**bits."""
    array = _array(f"codes of {name}", codes)
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"codes of {name} are integers, got {array.dtype}")
    top = (1 << bits) - 1
    if array.size and not (array.min() >= 0 and array.max() <= top):
        raise ValueError(f"codes of {name} run from 0 to {top}, got {array.min()} to {array.max()}")
    return array


def codes_array(what: str, codes: Any) -> NDArray[Any]:
    if not isinstance(codes, np.ndarray) or not np.issubdtype(codes.dtype, np.integer):
        raise ValueError(f"{what} is a numpy array of integer codes, got {_described(codes)}")
    return codes


def _array(what: str, x: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(x)
    except (TypeError, ValueError):
        raise ValueError(f"{what} is an array of numbers, got {_described(x)} that is none") from None


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    text = repr(value)
    return f"{type(value).__name__} {text}" if len(text) <= 40 else f"a {type(value).__name__}"
