"""What does this word mean, and where is it shown?"""

from pages.glossary.words import ALL_CONTROLS, show
from pages.kit.shell import open_page

view, controls = open_page(
    "What does this word mean?", *ALL_CONTROLS, moved={("glossary", "concepts"): ("pages/glossary.py", {})}
)
with view.below:
    show(controls)
