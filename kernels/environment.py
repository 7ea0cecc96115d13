"""Limits in the environment of the app."""

from collections.abc import Mapping


def positive(environment: Mapping[str, str], name: str, default: float) -> float:
    """The number in a variable, or the default. Raises ValueError unless it is above 0."""
    text = environment.get(name, "").strip()
    try:
        number = float(text) if text else default
    except ValueError:
        number = 0.0
    if not number > 0:
        raise ValueError(f"{name} is a number above 0, got {text!r}")
    return number
