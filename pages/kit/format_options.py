"""Options of a control that offers number formats: whatever the registry has and the control's use allows."""

from collections.abc import Callable

from fp8core.formats import FORMATS, Format


def format_options(fits: Callable[[Format], bool]) -> dict[str, str]:
    """The names of the formats that fit, each its own label, in the registry's order."""
    return {name: name for name, format_ in FORMATS.items() if fits(format_)}


def is_element(format_: Format) -> bool:
    """True for a format that scaled numbers are rounded to: signed, with codes of a byte at most."""
    return format_.signed and format_.bytes == 1


def is_narrow(format_: Format) -> bool:
    """True for a format that numbers are rounded to with or without a scale: signed, two bytes at most."""
    return format_.signed and format_.bytes <= 2
