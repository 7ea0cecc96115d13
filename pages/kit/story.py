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
from pages.kit.in_code.source_text import parsed
from pages.kit.view import current, know


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
        return question(self.script)

    def made(self) -> st.Page:
        """The page for Streamlit. Every run needs its own; a copy costs a hundredth of making one."""
        return copy(_made(self.script, self.title, self.is_default))


def page(
    script: str, *, title: str, after: Iterable[str] = (), is_tool: bool = False, is_default: bool = False
) -> StoryPage:
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
        return next(one for one in self.pages if not one.is_tool)

    def page(self, name: str) -> StoryPage:
        return self._by_name[name]

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def titled(self, title: str) -> StoryPage:
        return next(one for one in self.pages if one.title == title)

    def part_of(self, name: str) -> str:
        wanted = self._by_name[name]
        return next(part for part, pages in self.parts.items() if wanted in pages)

    def next_after(self, name: str) -> StoryPage | None:
        """The page that goes on where this one ends; None at the end of the story, and for a tool."""
        told = [one.name for one in self.pages if not one.is_tool]
        following = told[told.index(name) + 1 :] if name in told else []
        return self._by_name[following[0]] if following else None

    def navigation(self) -> dict[str, list[st.Page]]:
        return {part: [one.made() for one in pages] for part, pages in self.parts.items()}


@lru_cache(maxsize=64)
def _made(script: str, title: str, is_default: bool) -> st.Page:
    return st.Page(script, title=title, default=is_default)


@lru_cache(maxsize=64)
def question(script: str) -> str:
    """The question that a page answers: how its script's docstring begins."""
    told = ast.get_docstring(parsed((TOP / script).read_text(encoding="utf-8"))) or ""
    return told.partition("?")[0] + "?"


APP_NAME = "FP8 Explorer"
KEY = "story_pages"
_STYLE = f"""<style>
.st-key-{KEY} {{ margin-top: -3.5rem; padding-bottom: 0.5rem; }}
.st-key-{KEY} [data-testid="stElementContainer"]:has(a) {{ margin: 0 -12px; }}
.st-key-{KEY} a {{ padding: 0 12px; height: 24px; min-height: 0; margin: 0; }}
.st-key-{KEY} a p {{ font-size: 15px; }}
.st-key-{KEY} p strong {{ font-size: 18px; font-weight: 650; }}
.st-key-{KEY} [data-testid="stCaptionContainer"] {{ margin: 5px 0 0; opacity: 1; }}
.st-key-{KEY} [data-testid="stCaptionContainer"] p {{
    font-size: 13px; margin: 0; color: light-dark(#525c6a, #a9b3c1); }}
@media (min-height: 860px) {{
    .st-key-{KEY} a {{ height: 26px; }}
    .st-key-{KEY} [data-testid="stCaptionContainer"] {{ margin: 12px 0 0; }}
}}
</style>"""
# On a telephone the sidebar lies over the page: a page that is chosen there must be seen
_CLOSE_ON_TELEPHONES = f"""<script>
if (!window.storyCloses) {{
    window.storyCloses = true;
    document.addEventListener("click", (click) => {{
        if (innerWidth <= 768 && click.target.closest(".st-key-{KEY} a"))
            document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
    }});
}}
</script>"""


def draw_sidebar(parts: Mapping[str, Iterable[st.Page]]) -> None:
    """Draw the app's name and a link to each page; `parts` are those that `st.navigation` has in this run.

    A page that was given by its path would be looked up on the disk, each in each run.
    """
    with st.sidebar.container(key=KEY, gap=None):
        st.html(_STYLE)
        st.html(_CLOSE_ON_TELEPHONES, unsafe_allow_javascript=True)
        st.markdown(f"**{APP_NAME}**")
        for part, pages in parts.items():
            st.caption(part)
            for page in pages:
                st.page_link(page)


def draw_before(story: Story, page: StoryPage) -> None:
    """Draw links to the pages that one should have seen. The first page and tools have none."""
    needed = [story.page(name) for name in page.after]
    if page.is_tool or not needed:
        return
    row = know().container(horizontal=True, vertical_alignment="center", key="story_before")
    row.caption("First see", width="content")
    for one in needed:
        row.page_link(one.script, label=one.title, width="content")


def draw_next(story: Story, page: StoryPage) -> None:
    """Draw the link to the next page; where the story ends, and for a tool, the one to its first page.

    The first page has none: it has doors of its own.
    """
    if page == story.first:
        return
    following, view = story.next_after(page.name), current()
    to, told = (following, "Next: **{}** →") if following else (story.first, "Back to **{}**")
    place = st.container(key="view_next") if view is None else view.next
    place.page_link(to.script, label=told.format(to.title), help=to.asks)
