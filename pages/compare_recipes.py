"""In what do recipes differ?

A tile can have many shapes. Each recipe has chosen its own.
"""

from pages.compare_recipes import size as differences_size
from pages.compare_recipes import table as differences_table
from pages.compare_recipes.facts import CONTROLS, SHOW
from pages.kit.shell import open_page

SECTIONS = {"table": differences_table, "size": differences_size}

view, controls = open_page("In what do recipes differ?", *CONTROLS)
with view.below:
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls)
