"""In what do recipes differ?

A tile can have many shapes. Each recipe has chosen its own.
"""

from pages.compare_recipes import size, table
from pages.compare_recipes.facts import CONTROLS, SHOW
from pages.kit.shell import open_page

SECTIONS = {"table": table, "size": size}

view, controls = open_page("In what do recipes differ?", *CONTROLS)
with view.below:
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls)
