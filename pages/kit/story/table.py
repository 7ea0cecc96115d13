"""The pages in the order of the story, as `app.py` lists them.

story = Story({"Numbers": [page("pages/formats.py", title="Formats")]})
st.navigation(story.navigation()).run()
"""

import ast
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

import streamlit as st

from kernels.paths import TOP
from pages.kit.in_code.syntax import parsed


@dataclass(frozen=True, kw_only=True)
class StoryPage:
    """One page: its script and its title in the sidebar.

    `after` names the pages that one should have seen before. A tool, such as the glossary, is not told in the
    story: no page leads on to it.
    """

    script: str
    title: str
    after: tuple[str, ...] = ()
    is_tool: bool = False
    is_default: bool = False

    @property
    def name(self) -> str:
        """The name of its script, which is its address as well."""
        return PurePosixPath(self.script).stem

    @property
    def asks(self) -> str:
        """The question that it answers: how its docstring begins."""
        return _question(self.script)

    def made(self) -> st.Page:
        """The page for Streamlit. Every run needs its own; a copy costs a hundredth of making one."""
        return copy(_made(self.script, self.title, self.is_default))


def page(
    script: str, *, title: str, after: Iterable[str] = (), is_tool: bool = False, is_default: bool = False
) -> StoryPage:
    """One line of the table."""
    return StoryPage(script=script, title=title, after=tuple(after), is_tool=is_tool, is_default=is_default)


class Story:
    """All pages, by the parts of the story.

    Raises ValueError where `after` names a page that does not come before.
    """

    def __init__(self, parts: Mapping[str, Iterable[StoryPage]]) -> None:
        self.parts = {part: tuple(pages) for part, pages in parts.items()}
        self.pages = tuple(one for pages in self.parts.values() for one in pages)
        self._by_name: dict[str, StoryPage] = {}
        for one in self.pages:
            if missing := [name for name in one.after if name not in self._by_name]:
                raise ValueError(f"{one.script} comes after {missing}: no line before it lists them")
            self._by_name[one.name] = one

    @property
    def first(self) -> StoryPage:
        """The page on which the story begins. Raises StopIteration where there are only tools."""
        return next(one for one in self.pages if not one.is_tool)

    def page(self, name: str) -> StoryPage:
        """The page with this name. Raises KeyError where there is none."""
        return self._by_name[name]

    def __contains__(self, name: str) -> bool:
        """True if there is a page with this name."""
        return name in self._by_name

    def titled(self, title: str) -> StoryPage:
        """The page with this title. Raises StopIteration where there is none."""
        return next(one for one in self.pages if one.title == title)

    def part_of(self, name: str) -> str:
        """The part of the story that a page belongs to. Raises KeyError where there is no such page."""
        wanted = self._by_name[name]
        return next(part for part, pages in self.parts.items() if wanted in pages)

    def next_after(self, name: str) -> StoryPage | None:
        """The page that goes on where this one ends; None at the end of the story, and for a tool."""
        told = [one.name for one in self.pages if not one.is_tool]
        following = told[told.index(name) + 1 :] if name in told else []
        return self._by_name[following[0]] if following else None

    def navigation(self) -> dict[str, list[st.Page]]:
        """The parts as `st.navigation` takes them."""
        return {part: [one.made() for one in pages] for part, pages in self.parts.items()}


@lru_cache(maxsize=64)
def _made(script: str, title: str, is_default: bool) -> st.Page:
    return st.Page(script, title=title, default=is_default)


@lru_cache(maxsize=64)
def _question(script: str) -> str:
    told = ast.get_docstring(parsed((TOP / script).read_text(encoding="utf-8"))) or ""
    return told.partition("?")[0] + "?"
