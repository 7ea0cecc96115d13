"""The pages in the order of the story, and the frame of each: the lesson beside it, and the next page.

A page knows nothing of its frame: the frame's parameters (`pages.kit.address.FRAME`) are no controls.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

import streamlit as st
from streamlit.runtime.scriptrunner import StopException

from kernels.paths import TOP
from pages.kit import address
from pages.kit.classroom.follow import draw_following, publish
from pages.kit.in_code.panel import draw_in_code
from pages.kit.in_code.source_text import parsed
from pages.kit.lesson import panel
from pages.kit.look import presenter
from pages.kit.terms.explain import draw_words
from pages.kit.view import close_view, here


@dataclass(frozen=True)
class Page:
    """A page: its script, its title in the sidebar, and names of pages to see before (`after`).

    No page leads on to a tool.
    """

    script: str
    title: str
    after: Sequence[str] = ()
    is_for_kernels: bool = False
    is_tool: bool = False
    is_default: bool = False

    @property
    def thread(self) -> str:
        """Link to the page before: the text after the question in the script's docstring."""
        return _docstring(self.script).partition("?")[2].strip()

    @property
    def name(self) -> str:
        return PurePosixPath(self.script).stem

    def for_streamlit(self) -> st.Page:
        """Copy the page for a run, at a hundredth of the cost of making one."""
        return copy(_for_streamlit(self.script, self.title, self.is_default))


@lru_cache(maxsize=64)
def _for_streamlit(script: str, title: str, is_default: bool) -> st.Page:
    return st.Page(script, title=title, default=is_default)


def question(script: str) -> str:
    return _docstring(script).partition("?")[0] + "?"


@lru_cache(maxsize=64)
def _docstring(script: str) -> str:
    return ast.get_docstring(parsed((TOP / script).read_text(encoding="utf-8"))) or ""


def run_framed(parts: Mapping[str, Sequence[Page]]) -> None:
    """Run the requested page in its frame; `parts`: pages by part of the story.

    Beside a step, the lesson leads on, and not the story. A page that calls `pages.kit.shell.end` keeps its
    frame's end; one that raises or reruns does not.
    """
    story = [one for pages in parts.values() for one in pages]
    lesson = panel.requested_step()
    is_story = lesson is None
    pages = {part: [one.for_streamlit() for one in of_part] for part, of_part in parts.items()}
    current = st.navigation(pages, position="hidden")
    page = next(one for one in story if one.title == current.title)
    if is_story:
        draw_sidebar(pages)
    close_view()
    presenter.read()
    panel.draw(lesson, page.name)
    draw_following(page.name)
    if is_story and page.thread and not presenter.projected():
        st.html(f'<p class="fp8-thread">{_FOR_KERNELS * page.is_for_kernels}{page.thread}</p>')
    try:
        current.run()
    except StopException:
        _draw_end(story, page, is_story)
        raise
    _draw_end(story, page, is_story)


def _draw_end(story: Sequence[Page], page: Page, is_story: bool) -> None:
    publish(page.name)
    if is_story:
        draw_in_code(page.name)
        _draw_before(story, page)
    draw_words(page.name)
    if is_story:
        _draw_next(story, page)
    address.end_run()


_FOR_KERNELS = "For kernel people. "
APP_NAME = "FP8 Explorer"
KEY = "story_pages"
# On a telephone the sidebar lies over the page: a page that is chosen there must be seen.
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
    """Draw the app's name and a link to each page of `st.navigation`.

    A page given by its path would be looked up on the disk in each run.
    """
    with st.sidebar.container(key=KEY, gap=None):
        st.html(_CLOSE_ON_TELEPHONES, unsafe_allow_javascript=True)
        st.markdown(f"**{APP_NAME}**")
        for part, pages in parts.items():
            st.caption(part)
            for page in pages:
                st.page_link(page)


def _draw_before(story: Sequence[Page], page: Page) -> None:
    if not page.after:
        return
    row = here().know.container(horizontal=True, vertical_alignment="center", key="story_before")
    row.caption("First see", width="content")
    for one in story:
        if one.name in page.after:
            row.page_link(one.script, label=one.title, width="content")


def _draw_next(story: Sequence[Page], page: Page) -> None:
    """Link to the next page, or to the first one; the first page has its own doors."""
    pages = [one for one in story if not one.is_tool]
    if page == pages[0]:
        return
    is_last = page.is_tool or page == pages[-1]
    to = pages[0] if is_last else pages[pages.index(page) + 1]
    place = here().foot.container(key="view_next", width="content")
    label = f"Back to **{to.title}**" if is_last else f"{to.thread} Next: **{to.title}** →"
    place.page_link(to.script, label=label, help=question(to.script))
    if to.is_for_kernels and not page.is_for_kernels:
        beyond = next(one for one in pages[pages.index(to) :] if not one.is_for_kernels)
        label = f"That is for kernel people. Skip to **{beyond.title}** →"
        place.page_link(beyond.script, label=label, help=question(beyond.script))
