"""Why can't fp8 do without a scale?

Eight bits reach over few powers of two. A scale puts the numbers among them.
"""

from pages.kit.shell import open_page
from pages.scaling import delayed, rules, window
from pages.scaling.facts import CONTROLS, SHOW

SECTIONS = {"window": window, "rules": rules, "delayed": delayed}

view, controls = open_page("Why can't FP8 do without a scale?", *CONTROLS)
with view.below:
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls)
