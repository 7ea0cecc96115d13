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
from pages.kit.look import presenter
from pages.kit.story import Story, StoryPage, draw_before, draw_next, draw_sidebar
from pages.kit.terms.explain import draw_style, draw_words
from pages.kit.view import close_view


def run_framed(parts: Mapping[str, Iterable[StoryPage]]) -> None:
    """Run the page that the reader asks for, in its frame; `parts` are the pages by parts of the story."""
    story = Story(parts)
    lesson = panel.asked()
    pages = story.navigation()
    chosen = st.navigation(pages, position="hidden")
    if lesson is None or lesson.place is None:
        draw_sidebar(pages)
    with framed(story, story.titled(chosen.title), lesson):
        chosen.run()


@contextmanager
def framed(story: Story, page: StoryPage, lesson: Asked | None = None) -> Iterator[None]:
    """Draw what comes before a page and, once the page has ended, what comes after it.

    Beside a step of a lesson, the lesson leads on, and not the story. A page that ends early, with
    `pages.kit.shell.end`, has its end all the same. One that raises has not, nor one that runs anew.
    """
    close_view()
    presenter.read()
    draw_style()
    panel.draw(lesson, page.name)
    draw_following(story, page.name)
    is_story = lesson is None or lesson.place is None
    try:
        yield
    except StopException:
        _draw_end(story, page, is_story)
        raise
    _draw_end(story, page, is_story)


def _draw_end(story: Story, page: StoryPage, is_story: bool) -> None:
    publish(page.name)
    if is_story:
        draw_in_code(page.name)
        draw_before(story, page)
    draw_words(page.name)
    if is_story:
        draw_next(story, page)
