"""Two more kinds of control: a line of text, and several of a set of options."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pages.kit.widgets import Control, Place

_NONE = "none"
_SEPARATOR = ","


@dataclass(frozen=True, kw_only=True, eq=False)
class Text(Control[str]):
    """A line of at most `longest` characters. Only the page knows what it means.

    So the control accepts characters without a meaning. A value refused here would silently become the
    default.
    """

    longest: int
    placeholder: str | None = None

    @property
    def needs(self) -> str:
        return f"at most {self.longest} characters"

    def accepts(self, value: object) -> bool:
        return type(value) is str and len(value) <= self.longest

    def parse(self, text: str) -> object:
        return text

    def widget(self, place: Place, on_change: Callable[[], None] | None) -> str | None:
        return place.text_input(
            self.label,
            max_chars=self.longest,
            placeholder=self.placeholder,
            key=self.key,
            help=self.help,
            on_change=on_change,
            persist_state="session",
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Several(Control[list[str]]):  # type: ignore[type-var]
    """Any of `options`, each once. The address joins them by commas.

    With `most`, at least one and at most so many of a long list, which opens on demand.
    """

    options: Mapping[str, str]
    most: int | None = None

    @property
    def needs(self) -> str:
        if self.most is not None:
            return f"from 1 to {self.most} of {', '.join(self.options)}, joined by commas"
        return f"some of {', '.join(self.options)}, joined by commas, or {_NONE}"

    def accepts(self, value: object) -> bool:
        return (
            type(value) is list
            and all(type(one) is str and one in self.options for one in value)
            and len(set(value)) == len(value)
            and (self.most is None or 1 <= len(value) <= self.most)
        )

    def parse(self, text: str) -> object:
        return [] if text == _NONE else text.split(_SEPARATOR)

    def text(self, value: list[str]) -> str:
        return _SEPARATOR.join(value) or _NONE

    def widget(self, place: Place, on_change: Callable[[], None] | None) -> list[str] | None:
        if self.most is not None:
            return place.multiselect(
                self.label,
                list(self.options),
                format_func=self.options.__getitem__,
                max_selections=self.most,
                key=self.key,
                help=self.help,
                on_change=on_change,
                persist_state="session",
            )
        return place.pills(
            self.label,
            list(self.options),
            selection_mode="multi",
            format_func=self.options.__getitem__,
            key=self.key,
            help=self.help,
            on_change=on_change,
            persist_state="session",
        )
