"""The pages in the sidebar, by the parts of the story.

Streamlit's own list of pages puts groups between a list and its items, which a screen reader cannot follow.
"""

from collections.abc import Iterable, Mapping

import streamlit as st

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
_CLOSE_ON_TELEPHONES = f"""<script>
if (!window.storyCloses) {{
    window.storyCloses = true;
    document.addEventListener("click", (click) => {{
        if (innerWidth <= 768 && click.target.closest(".st-key-{KEY} a"))
            document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
    }});
}}
</script>"""
"""On a telephone the sidebar lies over the page: a page that is chosen there must be seen."""


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
