"""FP8 Explorer: the page table. A page is one script in `pages/` and one line here."""

import streamlit as st

st.navigation(
    [
        st.Page("pages/tile_layouts.py", title="Tile layouts", default=True),
        st.Page("pages/live_gemm.py", title="Live GEMM"),
        # The first page lives at "/"; this is the address its name suggests.
        st.Page("pages/tile_layouts.py", title="Tile layouts", url_path="tile_layouts", visibility="hidden"),
    ]
).run()
