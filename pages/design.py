"""What would your own recipe cost, break and buy?"""

import streamlit as st

from fp8core.recipes import RECIPES
from pages.kit.controls import Controls, link_params
from pages.kit.inert import plain
from pages.kit.shell import end, guard
from pages.kit.terms.explain import draw_text
from pages.sections.design import cost as design_cost
from pages.sections.design import error as design_error
from pages.sections.design import knobs as design_knobs
from pages.sections.design import places as design_places
from pages.sections.design import text as design_text
from pages.sections.design.cells import draw_cells
from pages.sections.design.controls import ALL_CONTROLS, BEGIN, CELL, CELL_KEYS, SHOW
from pages.sections.design.draft import current, in_words
from pages.sections.design.editor import draw_editor
from pages.sections.design.files import draw_files, draw_refusal
from pages.sections.design.measured import measured
from pages.sections.design.summary import draw_summary
from pages.sections.design.summary import wanted as summary_wanted

guard()
st.title("What would your own recipe cost, break and buy?")
controls = Controls(*ALL_CONTROLS)
controls.toolbar(st.sidebar)
draw_text(
    "A recipe says how six operands are quantized: three matmuls with two each. Begin with a published one, "
    "change what you like, and see what follows. The address holds the whole recipe."
)
row = st.container(horizontal=True, vertical_alignment="bottom")
controls.draw(BEGIN, row.container(width=330))
begun = RECIPES[controls.value(BEGIN)]
draft = current(controls)
draw_files(controls, draft, row)
draw_refusal()
if draft.unread:
    st.error(
        f"The recipe in the address cannot be read, so this is the one to begin with: {plain(draft.unread)}.",
        icon=":material/error:",
    )

draw_cells(draft, controls.value(CELL))
draw_editor(controls, draft)
if draft.recipe is None:
    st.warning(
        "These choices exclude each other: "
        + "; ".join(plain(in_words(one)) for one in draft.refusals)
        + ". Nothing is lost: "
        "change one of the fields, and the results come back.",
        icon=":material/block:",
    )
    end()

recipe = draft.recipe
section = controls.value(SHOW)
wanted = {"error": design_error.wanted, "knobs": design_knobs.wanted}.get(section, summary_wanted)
found = measured(controls, wanted(draft, begun.name))
draw_summary(controls, summary_wanted(draft, begun.name), found)
matmul, _ = CELL_KEYS[controls.value(CELL)]
st.page_link(
    "pages/tile_layouts.py",
    label="Draw its tiles",
    icon=":material/grid_on:",
    query_params=link_params(recipe=recipe.name, own=draft.line, matmul=matmul),
)
controls.draw(SHOW)
if section == "cost":
    design_cost.show(recipe, draft.line)
elif section == "error":
    design_error.show(controls, found)
elif section == "knobs":
    design_knobs.show(controls, draft, found)
elif section == "runs":
    design_places.show(controls, draft)
else:
    design_text.show(recipe, draft)
st.caption(f"Source of {begun.title}: {plain(begun.source)}. {plain(begun.remark)}")
