"""FP8 Explorer: the page table. A page is one script in `pages/` and one line here."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

# `streamlit run` starts the server with this file; then each session runs it.
if get_script_run_ctx(suppress_warning=True) is None:
    from pages.kit.server.lifespan import MIDDLEWARE, lifespan

    app = st.App(__file__, middleware=MIDDLEWARE, lifespan=lifespan)
else:
    from pages.kit.shell import page

    st.navigation(
        [
            page("pages/tile_layouts.py", title="Tile layouts", url_path="home", default=True),
            page("pages/formats.py", title="Formats"),
            page("pages/scaling.py", title="Scaling"),
            page("pages/stochastic_rounding.py", title="Stochastic rounding"),
            page("pages/rotations.py", title="Rotations"),
            page("pages/accumulation.py", title="Accumulation"),
            page("pages/outliers.py", title="Outliers"),
            page("pages/design.py", title="Design a recipe"),
            page("pages/live_gemm.py", title="Live GEMM"),
            page("pages/benchmarks.py", title="Benchmarks"),
            page("pages/sanity_check.py", title="Sanity check"),
            # The default page answers at "/" only; its own name is an address as well.
            page("pages/tile_layouts.py", title="Tile layouts", visibility="hidden"),
        ]
    ).run()
