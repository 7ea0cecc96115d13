"""The fields of an entry in a file of `assets`, and a sentence for each that is wrong."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

LONGEST_SENTENCE = 25  # words
_SHOWN = 40


@dataclass(frozen=True)
class Field:
    """One field: which values it takes, and how to say that; an optional one may be left out."""

    accepts: Callable[[object], bool]
    needs: str
    optional: bool = False


def problems(entry: Mapping[str, object], fields: Mapping[str, Field]) -> Iterator[tuple[str, str]]:
    """Each field that is missing, unknown or has a wrong value, and the rest of a sentence about it."""
    for name, field in fields.items():
        if name not in entry:
            if not field.optional:
                yield name, f"is missing, and needs {field.needs}"
        elif not field.accepts(entry[name]):
            yield name, f"needs {field.needs}, got {_shown(entry[name])}"
    for name in entry:
        if name not in fields:
            yield _shown(name)[1:-1], f"is no field; the fields are {', '.join(fields)}"


def is_text(value: object) -> bool:
    """True for a text that is not empty, without spaces at its ends."""
    return isinstance(value, str) and bool(value) and value == value.strip()


def is_truth(value: object) -> bool:
    """True for true and false."""
    return isinstance(value, bool)


def is_sentence(value: object) -> bool:
    """True for one sentence that is short enough to be read once."""
    if not isinstance(value, str) or not is_text(value):
        return False
    return value.endswith(".") and ". " not in value and len(value.split()) <= LONGEST_SENTENCE


def is_names(value: object) -> bool:
    """True for a list of texts."""
    return isinstance(value, list) and all(map(is_text, value))


def is_controls(value: object) -> bool:
    """True for values of controls by key. Only the page knows whether it accepts them."""
    return isinstance(value, dict) and all(
        isinstance(one, str | int | float | bool) or is_names(one) for one in value.values()
    )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
