"""What would your own recipe cost, break and buy?

You have seen what a recipe chooses. Which would you choose?
"""

import streamlit as st

from fp8core.recipes import RECIPES
from pages.design import error as design_error
from pages.design.derived import show_cost, show_runs
from pages.design.draft import ALL_CONTROLS, BEGIN, CELL, CELL_KEYS, SHOW, draft_of, in_words
from pages.design.recipe import draw_editor, draw_files
from pages.design.sketch import draw_cells, draw_summary
from pages.kit.controls import link_params
from pages.kit.inert import plain
from pages.kit.shared_controls import OWN
from pages.kit.shell import open_page
from pages.kit.view import stage

view, controls = open_page("What would your own recipe cost, break and buy?", *ALL_CONTROLS)
view.know.markdown(
    "A recipe says how six operands are quantized: three matmuls with two each. Begin with a published one, "
    "change what you like, and see what follows. The address holds the whole recipe. K runs across in A and "
    "down in B. The sketch is not to scale. A line around the tiles is an outer scale."
)
with view.below:
    section = controls.draw(SHOW, view.sections)
    controls.draw(BEGIN, view.control)
    base = RECIPES[controls.value(BEGIN)]
    draft = draft_of(controls.value(OWN), base.name)
    if section == "error" and draft.recipe is not None:
        design_error.show(controls, draft, base)
    else:
        with stage().container():
            sketch, figures = st.columns([74, 26], gap="medium")
            draw_cells(controls, draft, sketch)
            if section == "recipe" or draft.recipe is None:
                draw_editor(controls, draft)
            elif section == "cost":
                show_cost(draft.recipe, draft.line)
            else:
                show_runs(controls, draft.line)
        draw_summary(controls, draft, base, figures, st if section == "recipe" else view.know)
    if draft.unread:
        view.warning.error(f"The link's recipe cannot be read: {plain(draft.unread)}. Shown is {base.title}.")
    if draft.recipe is None:
        st.warning(
            "These choices exclude each other: "
            + "; ".join(plain(in_words(one)) for one in draft.refusals)
            + ". Nothing is lost: change one of the fields, and the results come back.",
            icon=":material/block:",
        )
    else:
        matmul, _ = CELL_KEYS[controls.value(CELL)]
        view.know.page_link(
            "pages/tile_layouts.py",
            label="Draw its tiles",
            icon=":material/grid_on:",
            query_params=link_params(recipe=draft.recipe.name, own=draft.line, matmul=matmul),
        )
    draw_files(controls, draft, view.more.container(horizontal=True, vertical_alignment="bottom"))
view.know.caption(f"Source of {base.title}: {plain(base.source)}. {plain(base.remark)}")
