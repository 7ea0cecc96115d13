"""Every view has its picture on the first screen, and a change of section leaves it in its place.

A view that does not hold yet stands in `not_yet.txt`. One that holds must not stand there: delete its line.
"""

from collections.abc import Callable, Iterator
from itertools import groupby

import pytest
from playwright.sync_api import Page

from tests.browser.anatomy import (
    BESIDE,
    LAPTOP,
    NOT_YET,
    PHONE,
    PRESENTER,
    SCREENS,
    SHIFT,
    SHIFT_LIMIT,
    STILL,
    Screen,
    anatomy,
    change,
    screens,
)
from tests.browser.views import PAGES, STEPS, VIEWS, Step, View, views
from tests.sweeps import exhaustive_unless

pytestmark = pytest.mark.browser

EVERY, OF_PAGES, OF_CHAPTERS = 10, 5, 6
"""One in so many views, pages on a laptop and chapters is looked at; `make test-all` takes all."""
# A tab that goes on to another page need not load: neighbors are of different pages.
APART = sorted(VIEWS, key=lambda view: views(view.page).index(view))
DRAWN = [exhaustive_unless(place % EVERY == 0, str(view), (view,)) for place, view in enumerate(APART)]

BY_CHAPTER = [list(steps) for _, steps in groupby(STEPS, key=lambda step: step.place.chapter)]
ASKED = [
    exhaustive_unless(chapter % OF_CHAPTERS == 0 and place == 0, str(step), (step,))
    for chapter, steps in enumerate(BY_CHAPTER)
    for place, step in enumerate(steps)
]
ON_LAPTOP = [exhaustive_unless(place % OF_PAGES == 0, page, (page,)) for place, page in enumerate(PAGES)]


@pytest.fixture(scope="module")
def show(chromium, server) -> Iterator[Callable[[Screen, View], Page]]:
    """Shows a view on a screen."""
    with screens(chromium, server.url) as of_screen:
        yield of_screen


@pytest.mark.parametrize("page", ON_LAPTOP)
def test_on_a_laptop_the_picture_is_near_the_top_and_keeps_its_place(show, page):
    first, *others = views(page)
    tab = show(LAPTOP, first)
    complaints = placed(tab, LAPTOP, first)
    for view in others:
        shift = change(tab, view)
        complaints += complaint(SHIFT, view, shift <= SHIFT_LIMIT, f"{shift:.2f}", is_sure=shift <= STILL)
        complaints += placed(tab, LAPTOP, view)
        change(tab, first)
    assert complaints == []


@pytest.mark.parametrize("view", DRAWN)
@pytest.mark.parametrize("screen", [PHONE, PRESENTER], ids=lambda screen: screen.name)
def test_a_telephone_and_a_projector_show_the_picture_on_their_first_screen(show, screen, view):
    assert placed(show(screen, view), screen, view) == []


@pytest.mark.parametrize("step", ASKED)
@pytest.mark.parametrize("screen", [BESIDE, PHONE], ids=lambda screen: screen.name)
def test_beside_a_step_of_the_lesson_the_picture_is_on_the_first_screen(show, screen, step):
    if not {line(kind.name, step.view) for kind in (LAPTOP, PHONE)} & NOT_YET:
        assert placed(show(screen, step), screen, step) == []


def test_what_does_not_hold_yet_is_a_view():
    names = {line(kind, view) for kind in (*(screen.name for screen in SCREENS), SHIFT) for view in VIEWS}
    names |= {line(screen.name, step) for screen in (BESIDE, PHONE) for step in STEPS}
    assert names >= NOT_YET


def placed(page: Page, screen: Screen, view: View | Step) -> list[str]:
    """What is wrong with the place of the picture, or with the list."""
    found = anatomy(page)
    return complaint(screen.name, view, found.holds(screen), str(found))


def complaint(kind: str, view: View | Step, holds: bool, seen: str, *, is_sure: bool = True) -> list[str]:
    """A sentence where a view does not hold and is not listed, or surely holds and is listed."""
    is_listed = line(kind, view) in NOT_YET
    if holds and is_listed and is_sure:
        return [f"{line(kind, view)} holds: delete its line in not_yet.txt ({seen})"]
    return [] if holds or is_listed else [f"{line(kind, view)} does not hold: {seen}"]


def line(kind: str, view: View | Step) -> str:
    return f"{kind} {view}"
