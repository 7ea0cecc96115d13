"""One table of a chapter's file, read field by field; what is wrong is told in a sentence each."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from pages.kit.widgets import Value

_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}


class Fields:
    """The fields of a table. Each is asked for once; `end` complains of those that nobody asked for.

    `where` says whose table it is, such as ``03_scaling.toml, step 2``.
    """

    def __init__(self, table: Mapping[str, Any], where: str, complaints: list[str]) -> None:
        self._table, self.where, self._complaints = dict(table), where, complaints
        self._asked: list[str] = []

    def complain(self, name: str, told: str) -> None:
        """Say what is wrong with a field."""
        self._complaints.append(f"{self.where}, `{name}`: {told}.")

    def has(self, name: str) -> bool:
        """True if the file gives this field."""
        return name in self._table

    def text(self, name: str, default: str | None = None) -> str:
        """A text. Without a default it must be there and hold something."""
        found = self._typed(name, str, default)
        if default is None and found is not None and not found.strip():
            self.complain(name, "it is empty")
        return (found or "").strip()

    def whole(self, name: str, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        found = self._typed(name, int, None)
        if found is not None and not low <= found <= high:
            self.complain(name, f"it needs {low} to {high}, got {found}")
        return found or low

    def number(self, name: str) -> float | None:
        """A finite number, or None where the file gives none."""
        self._asked.append(name)
        found = self._table.get(name)
        if found is None:
            return None
        if type(found) not in (int, float) or not math.isfinite(found):
            self.complain(name, f"it needs a number, got {found!r}")
            return None
        return float(found)

    def truth(self, name: str) -> bool:
        """True or false; false where the file says nothing."""
        return bool(self._typed(name, bool, False))

    def words(self, name: str) -> tuple[str, ...]:
        """A list of texts; empty where the file gives none."""
        found = self._typed(name, list, [])
        if any(type(one) is not str for one in found or []):
            self.complain(name, f"it needs texts in quotes, got {found!r}")
            return ()
        return tuple(found or [])

    def settings(self, name: str) -> dict[str, Value]:
        """Values by the keys of controls, or lists of texts; empty where the file gives none."""
        self._asked.append(name)
        found = self._table.get(name, {})
        if not isinstance(found, dict) or not all(map(_is_setting, found.values())):
            self.complain(name, f"it needs controls and their values, as {{ key = value }}, got {found!r}")
            return {}
        return found

    def table(self, name: str) -> "Fields | None":
        """A table inside of this one, or None where the file gives none."""
        self._asked.append(name)
        found = self._table.get(name)
        if found is None:
            return None
        if not isinstance(found, dict):
            self.complain(name, f"it needs a table, got {found!r}")
            return None
        return Fields(found, f"{self.where}, {name}", self._complaints)

    def tables(self, name: str, one: str) -> Iterator["Fields"]:
        """The tables of a list. A sentence calls each `one` and its number."""
        self._asked.append(name)
        found = self._table.get(name, [])
        if not isinstance(found, list) or any(not isinstance(table, dict) for table in found):
            self.complain(name, "it needs a list of tables")
            return
        for number, table in enumerate(found, 1):
            yield Fields(table, f"{self.where}, {one} {number}", self._complaints)

    def end(self) -> None:
        """Complain of every field that nobody asked for."""
        for name in self._table:
            if name not in self._asked:
                self.complain(name, f"there is no such field; known here: {', '.join(self._asked)}")

    def _typed(self, name: str, kind: type, default: Any) -> Any:
        self._asked.append(name)
        if name not in self._table:
            if default is None:
                self.complain(name, "it is missing")
            return default
        found = self._table[name]
        if type(found) is not kind:
            self.complain(name, f"it needs {_NAMES[kind]}, got {found!r}")
            return default
        return found


def _is_setting(value: object) -> bool:
    """True for what a control may have: a text, a number, true or false, or several texts."""
    several = value if type(value) is list else []
    return type(value) in (str, int, float, bool) or (
        any(several) and all(type(one) is str for one in several)
    )
