"""Every view has its picture on the first screen of a telephone and of a projector, also beside a lesson.

A laptop's screen is looked at in test_every_page.py, a telephone beside a lesson in test_lesson.py.
"""

import pytest

from tests.browser.anatomy import BESIDE, PHONE, PRESENTER, anatomy
from tests.browser.looks import in_the_end
from tests.browser.views import PAGES, STEPS, VIEWS, sections, views
from tests.serving import TOP
from tests.sweeps import exhaustive_unless

pytestmark = pytest.mark.browser

# A tab that goes on to another page need not load: neighbors are of different pages.
APART = sorted(VIEWS, key=lambda view: views(view.page).index(view))


SEEN = [
    exhaustive_unless(
        place == 0 and (screen, views) != (PHONE, STEPS), f"{screen.name}-{view}", (screen, view)
    )
    for screen, views in ((PHONE, APART), (PRESENTER, APART), (BESIDE, STEPS), (PHONE, STEPS))
    for place, view in enumerate(views)
]


@pytest.mark.parametrize(("screen", "view"), SEEN)
def test_the_picture_is_on_the_first_screen(show, screen, view):
    page = show(screen, view)
    seen = in_the_end(page, lambda: anatomy(page), lambda seen: seen.holds(screen))
    assert seen.holds(screen), seen


def test_every_page_with_sections_is_seen_with_all_of_them():
    scripts = {page: (TOP / "pages" / f"{page}.py").read_text(encoding="utf-8") for page in PAGES}
    assert [page for page in PAGES if "SHOW" in scripts[page]] == [page for page in PAGES if sections(page)]
