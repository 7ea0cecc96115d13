"""What surrounds every page: where it stands in the story, the lesson beside it, and where to go next.

`app.py` runs each page inside of it:

    run_framed({"Numbers": [page("pages/formats.py", title="Formats")]})

A page knows nothing of its frame. The frame's own parameters of the address (`pages.kit.address.FRAME`) are
no controls: a page neither reads nor drops them.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import streamlit as st
from streamlit.runtime.scriptrunner import StopException

from pages.kit.classroom.follow import draw_following, publish
from pages.kit.in_code.panel import draw_in_code
from pages.kit.lesson import panel
from pages.kit.lesson.panel import Asked
from pages.kit.story.table import Story, StoryPage
from pages.kit.terms.page_words import draw_style, draw_words


def run_framed(parts: Mapping[str, Iterable[StoryPage]]) -> None:
    """Run the page that the reader asks for, in its frame; `parts` are the pages by parts of the story."""
    story = Story(parts)
    lesson = panel.asked()
    is_beside = lesson is not None and lesson.place is not None
    chosen = st.navigation(story.navigation(), position="hidden" if is_beside else "sidebar", expanded=True)
    with framed(story, story.titled(chosen.title), lesson):
        chosen.run()


@contextmanager
def framed(story: Story, page: StoryPage, lesson: Asked | None = None) -> Iterator[None]:
    """Draw what comes before a page and, once the page has ended, what comes after it.

    Beside a step of a lesson, the lesson leads on, and not the story. A page that stops early, with
    `st.stop()`, has its end all the same. One that raises has not, nor one that runs anew.
    """
    draw_style()
    panel.draw(lesson, page.name)
    draw_following(story, page.name)
    is_story = lesson is None or lesson.place is None
    if is_story:
        _draw_before(story, page)
    try:
        yield
    except StopException:
        _draw_end(story, page, is_story)
        raise
    _draw_end(story, page, is_story)


def _draw_end(story: Story, page: StoryPage, is_story: bool) -> None:
    publish(page.name)
    if is_story:
        _draw_after(story, page)
    else:
        draw_words(page.name)


def _draw_before(story: Story, page: StoryPage) -> None:
    needed = [story.page(name) for name in page.after]
    if not needed or st.context.is_embedded:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="frame_before"):
        st.caption(f"{story.part_of(page.name)} · you should have seen", width="content")
        for one in needed:
            st.page_link(one.script, label=one.title)


def _draw_after(story: Story, page: StoryPage) -> None:
    draw_words(page.name)
    draw_in_code(page.name)
    following = story.next_after(page.name)
    if following is None:
        return
    st.divider()
    st.page_link(
        following.script,
        label=f"Next in the story: **{following.title}**. {following.asks}",
        icon=":material/arrow_forward:",
    )
