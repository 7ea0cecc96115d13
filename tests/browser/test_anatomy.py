"""Every view has its picture on the first screen of a telephone and of a projector, also beside a lesson.

A laptop's screen is looked at in test_every_page.py, a telephone beside a lesson in test_lesson.py.
"""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page

from tests.browser.anatomy import BESIDE, PHONE, PRESENTER, Screen, anatomy, screens
from tests.browser.looks import in_the_end
from tests.browser.views import PAGES, STEPS, VIEWS, View, sections, views
from tests.serving import TOP
from tests.sweeps import exhaustive, exhaustive_unless

pytestmark = pytest.mark.browser

# A tab that goes on to another page need not load: neighbors are of different pages.
APART = sorted(VIEWS, key=lambda view: views(view.page).index(view))
DRAWN = [exhaustive_unless(place == 0, str(view), (view,)) for place, view in enumerate(APART)]

ASKED = [exhaustive_unless(place == 0, str(step), (step,)) for place, step in enumerate(STEPS)]


@pytest.fixture(scope="module")
def show(chromium, server) -> Iterator[Callable[[Screen, View], Page]]:
    """Shows a view on a screen."""
    with screens(chromium, server.url) as of_screen:
        yield of_screen


@pytest.mark.parametrize("view", DRAWN)
@pytest.mark.parametrize("screen", [PHONE, PRESENTER], ids=lambda screen: screen.name)
def test_a_telephone_and_a_projector_show_the_picture_on_their_first_screen(show, screen, view):
    page = show(screen, view)
    seen = in_the_end(page, lambda: anatomy(page), lambda seen: seen.holds(screen))
    assert seen.holds(screen), seen


@pytest.mark.parametrize("step", ASKED)
@pytest.mark.parametrize(
    "screen", [BESIDE, pytest.param(PHONE, marks=exhaustive)], ids=lambda screen: screen.name
)
def test_beside_a_step_of_the_lesson_the_picture_is_on_the_first_screen(show, screen, step):
    page = show(screen, step)
    seen = in_the_end(page, lambda: anatomy(page), lambda seen: seen.holds(screen))
    assert seen.holds(screen), seen


def test_every_page_with_sections_is_seen_with_all_of_them():
    scripts = {page: (TOP / "pages" / f"{page}.py").read_text(encoding="utf-8") for page in PAGES}
    assert [page for page in PAGES if "SHOW" in scripts[page]] == [page for page in PAGES if sections(page)]
