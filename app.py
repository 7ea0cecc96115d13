"""FP8 Explorer: the page table. A page is one script in `pages/` and one line here."""

from streamlit.runtime.scriptrunner import get_script_run_ctx

# `streamlit run` starts the server with this file; then each session runs it.
if get_script_run_ctx(suppress_warning=True) is None:
    import streamlit as st

    from pages.kit.server.lifespan import MIDDLEWARE, lifespan

    app = st.App(__file__, middleware=MIDDLEWARE, lifespan=lifespan)
else:
    from pages.kit.story import Page, run_framed

    run_framed(
        {
            "Why": [
                Page("pages/start.py", title="Start", is_default=True),
                Page("pages/lesson.py", title="Lesson", is_tool=True),
                Page("pages/why_fp8.py", title="Why FP8"),
            ],
            "Numbers": [
                Page("pages/formats.py", title="Formats", after=["why_fp8"]),
            ],
            "Scales and tiles": [
                Page("pages/scaling.py", title="Scaling", after=["formats"]),
                Page("pages/tile_layouts.py", title="Tile layouts", after=["scaling"]),
                Page("pages/compare_recipes.py", title="Compare recipes", after=["tile_layouts"]),
            ],
            "What goes wrong, and remedies": [
                Page("pages/outliers.py", title="Outliers", after=["tile_layouts"]),
                Page("pages/rotations.py", title="Rotations", after=["outliers"]),
                Page("pages/stochastic_rounding.py", title="Stochastic rounding", after=["formats"]),
                Page("pages/accumulation.py", title="Accumulation", after=["formats"]),
            ],
            "On the GPU, for kernel people": [
                Page("pages/live_gemm.py", title="Live GEMM", after=["tile_layouts"], is_for_kernels=True),
                Page("pages/benchmarks.py", title="Benchmarks", after=["live_gemm"], is_for_kernels=True),
                Page("pages/fused.py", title="Fused quantization", after=["benchmarks"], is_for_kernels=True),
            ],
            "Does it work?": [
                Page("pages/loss.py", title="Does the loss notice?", after=["compare_recipes", "outliers"]),
                Page("pages/sanity_check.py", title="Sanity check"),
            ],
            "Yours": [
                Page("pages/design.py", title="Design a recipe", after=["tile_layouts", "outliers"]),
                Page("pages/glossary.py", title="Glossary", is_tool=True),
                Page("pages/classroom.py", title="Class", is_tool=True),
            ],
        }
    )
