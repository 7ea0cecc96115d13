"""FP8 Explorer: the page table. A page is one script in `pages/` and one line here."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

# `streamlit run` starts the server, which lets in what KnownHosts does; then each session runs this file.
if get_script_run_ctx(suppress_warning=True) is None:
    from starlette.middleware import Middleware

    from pages.kit.hosts import KnownHosts

    app = st.App(__file__, middleware=[Middleware(KnownHosts)])
else:
    st.navigation(
        [
            st.Page("pages/tile_layouts.py", title="Tile layouts", url_path="home", default=True),
            st.Page("pages/formats.py", title="Formats"),
            st.Page("pages/scaling.py", title="Scaling"),
            st.Page("pages/stochastic_rounding.py", title="Stochastic rounding"),
            st.Page("pages/rotations.py", title="Rotations"),
            st.Page("pages/accumulation.py", title="Accumulation"),
            st.Page("pages/live_gemm.py", title="Live GEMM"),
            st.Page("pages/benchmarks.py", title="Benchmarks"),
            st.Page("pages/sanity_check.py", title="Sanity check"),
            # The default page answers at "/" only; its own name is an address as well.
            st.Page("pages/tile_layouts.py", title="Tile layouts", visibility="hidden"),
        ]
    ).run()
