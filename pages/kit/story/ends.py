"""The two ends of a page: at the top what one should have seen, at the bottom where the story goes on."""

import streamlit as st

from pages.kit.look.presenter import projected
from pages.kit.story.table import Story, StoryPage

_TOP, _BOTTOM = "story_top", "story_bottom"
_STYLE = f"""<style>
.st-key-{_TOP} {{ gap: 0 0.75rem; }}
.st-key-{_TOP} a {{ padding: 0; min-height: 0; }}
.st-key-{_TOP} a p {{ font-size: 14px; text-decoration: underline; text-underline-offset: 3px; }}
.st-key-{_BOTTOM} {{ margin-top: 1.5rem; }}
.st-key-{_BOTTOM} a {{ border: 1px solid var(--story-line); border-radius: 10px; padding: 14px 18px;
    gap: 14px; }}
.st-key-{_BOTTOM} a:hover {{ border-color: currentColor; }}
.st-key-{_BOTTOM} a span {{ white-space: normal; overflow: visible; }}
.st-key-{_BOTTOM} a p {{ white-space: normal; overflow: visible; font-size: 14px; line-height: 1.4; }}
.st-key-{_BOTTOM} a strong {{ display: block; font-size: 18px; }}
.st-key-{_BOTTOM} {{ --story-line: color-mix(in srgb, currentColor 30%, transparent); }}
@media print {{ .st-key-{_TOP}, .st-key-{_BOTTOM} {{ display: none; }} }}
</style>"""


def draw_top(story: Story, page: StoryPage) -> None:
    """Draw the part of the story and the pages that one should have seen. The first page and tools have none.

    On a projector the picture comes first.
    """
    if page.is_tool or page is story.first or projected():
        return
    needed = [story.page(name) for name in page.after]
    with st.container(horizontal=True, vertical_alignment="center", key=_TOP):
        told = "first see" if needed else "you can begin here"
        st.caption(f"{story.part_of(page.name)} · {told}", width="content")
        for one in needed:
            st.page_link(one.script, label=one.title, width="content")


def draw_bottom(story: Story, page: StoryPage) -> None:
    """Draw the link to the next page; where the story ends, and for a tool, the one to its first page."""
    following = story.next_after(page.name)
    to, told = (following, "Next in the story") if following else (story.first, "The story begins here")
    st.html(_STYLE)
    with st.container(key=_BOTTOM):
        st.page_link(
            to.script,
            label=f"{told} **{to.title}** {to.asks}",
            icon=":material/arrow_forward:" if following else ":material/replay:",
            width="stretch",
        )
