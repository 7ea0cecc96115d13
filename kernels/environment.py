"""Limits that whoever starts the app sets in the environment."""

from collections.abc import Mapping


def positive(environment: Mapping[str, str], name: str, default: float) -> float:
    """The number in a variable, or else the default. Raises ValueError for one that is no number above 0."""
    text = environment.get(name, "").strip()
    try:
        number = float(text) if text else default
    except ValueError:
        number = 0.0
    if not number > 0:
        raise ValueError(f"{name} is a number above 0, got {text!r}")
    return number
