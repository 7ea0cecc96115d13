"""Which recipe survives outliers?

Recipes differ in who shares a scale. An outlier shows what that is worth.
"""

from pages.kit.shell import open_page
from pages.outliers import crest, lost, matmuls, weights
from pages.outliers import map as error_map
from pages.outliers.controls import ALL_CONTROLS, MORE, SHOW

SECTIONS = {"map": error_map.show, "lines": lost.show_lines, "matmuls": matmuls.show}
QUESTIONS = {
    "parts": lost.show_parts,
    "readers": weights.show_readers,
    "crest": crest.show_recipes,
    "int8": crest.show_int8,
    "story": weights.show_story,
    "real": crest.show_real,
}
MOVED = {(SHOW.key, name): (None, {SHOW.key: "more", MORE.key: name}) for name in MORE.options}
INTRODUCTION = (
    "One large number decides the scale of every number that shares it. What that costs the small ones "
    "depends on the recipe: on its format, its tiles, and how its scales are rounded. Up to four "
    "recipes quantize **the same tensor** here; “More controls” has the choice."
)
SOURCES = (
    "Sources: outlier channels, arXiv 2208.07339 (LLM.int8); outlier tokens, arXiv 2402.17762 (massive "
    "activations); scale bias, deadzone and grid noise, arXiv 2605.20402; shrinkage, arXiv 2606.20381."
)

view, controls = open_page(
    "Which recipe survives outliers?",
    *ALL_CONTROLS,
    moved=MOVED | {(SHOW.key, "tiles"): ("pages/compare_recipes.py", {"differ_show": "size"})},
)
with view.below:
    view.know.markdown(INTRODUCTION)
    section = controls.draw(SHOW, view.sections)
    show = SECTIONS.get(section) or QUESTIONS[controls.draw(MORE, view.control)]
    show(controls)
    view.know.caption(SOURCES)
