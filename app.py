"""FP8 Explorer: the page table. A page is one script in `pages/` and one line here."""

from streamlit.runtime.scriptrunner import get_script_run_ctx

# `streamlit run` starts the server with this file; then each session runs it.
if get_script_run_ctx(suppress_warning=True) is None:
    import streamlit as st

    from pages.kit.server.lifespan import MIDDLEWARE, lifespan

    app = st.App(__file__, middleware=MIDDLEWARE, lifespan=lifespan)
else:
    from pages.kit.frame import run_framed
    from pages.kit.story import page

    run_framed(
        {
            "Why": [
                page("pages/start.py", title="Start", is_default=True),
                page("pages/lesson.py", title="Lesson", is_tool=True),
                page("pages/why_fp8.py", title="Why FP8"),
            ],
            "Numbers": [
                page("pages/formats.py", title="Formats", after=["why_fp8"]),
            ],
            "Scales and tiles": [
                page("pages/scaling.py", title="Scaling", after=["formats"]),
                page("pages/tile_layouts.py", title="Tile layouts", after=["scaling"]),
                page("pages/compare_recipes.py", title="Compare recipes", after=["tile_layouts"]),
            ],
            "What goes wrong, and remedies": [
                page("pages/outliers.py", title="Outliers", after=["tile_layouts"]),
                page("pages/rotations.py", title="Rotations", after=["outliers"]),
                page("pages/stochastic_rounding.py", title="Stochastic rounding", after=["formats"]),
                page("pages/accumulation.py", title="Accumulation", after=["formats"]),
            ],
            "On the GPU": [
                page("pages/live_gemm.py", title="Live GEMM", after=["tile_layouts"]),
                page("pages/benchmarks.py", title="Benchmarks", after=["live_gemm"]),
                page("pages/fused.py", title="Fused quantization", after=["tile_layouts", "benchmarks"]),
                page("pages/loss.py", title="Does the loss notice?", after=["compare_recipes", "outliers"]),
                page("pages/sanity_check.py", title="Sanity check"),
            ],
            "Yours": [
                page("pages/design.py", title="Design a recipe", after=["tile_layouts", "outliers"]),
                page("pages/glossary.py", title="Glossary", is_tool=True),
                page("pages/classroom.py", title="Class", is_tool=True),
            ],
        }
    )
