"""The two ends of a page: what one should have seen before, and where the story goes on."""

import streamlit as st

from pages.kit.story.table import Story, StoryPage
from pages.kit.view import current, know


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
