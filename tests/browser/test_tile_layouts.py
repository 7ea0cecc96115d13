"""One matmul answers: pointing, clicks on tiles and on D, play along K, the corner that turns tiles."""

import numpy as np
import pytest

from fp8core.linear import MATMULS, LayerShape, Side
from fp8core.recipes import RECIPES, Family
from pages.kit.charts.words import short
from pages.kit.shared_controls import INPUT, SEED
from pages.kit.stage.window import STEPS
from pages.tile_layouts.matmul import cases, contraction, output_parts
from pages.tile_layouts.row import is_lost, pull
from tests.browser.handles import center, finger, lost_in, mouse
from tests.browser.looks import becomes, in_the_end, messages, settled, silent
from tests.sweeps import some_cases

pytestmark = pytest.mark.browser

LAYER = LayerShape(4096, 4096, 14336)
TILES, CELLS, HANDLE = "rect.tile", "g.cells_marks path", ".handle"
SETTLE_MS = 30_000


def shown(recipe: str = "deepseek_v3", matmul: str = "fprop"):
    """The matmul as the page shows it, then with the tiles of A turned further and further."""
    return cases(RECIPES[recipe], MATMULS[matmul], INPUT.default, SEED.default, LAYER)


def tile_count(drawn) -> int:
    """Tiles of A and of B, and the parts of D."""
    (a, b), (m, n) = zip(*[_counts(drawn, side) for side in Side], strict=True)
    return a + b + m * n


def _counts(drawn, side: Side) -> tuple[int, int]:
    tiles = drawn.tiles(side)
    return tiles.scale.size, len({*zip(*tiles.free.tolist(), strict=True)})


def drawn(page, recipe: str, matmul: str):
    """Wait until this matmul's tiles are there; their locator."""
    tiles = page.locator(TILES)
    wanted = tile_count(shown(recipe, matmul)[0])
    becomes(page, tiles.count, wanted)
    return tiles


def says(page, text: str) -> None:
    page.get_by_text(text, exact=True).first.wait_for(timeout=SETTLE_MS)


def choose(page, label: str) -> None:
    page.get_by_role("radio", name=label, exact=True).or_(
        page.get_by_role("button", name=label, exact=True)
    ).first.click()
    settled(page)


def wait_for_parameters(page, **parameters: str) -> None:
    """Wait until the address has these parameters, among others."""
    wanted = "&&".join(f"q.get('{key}')==='{value}'" for key, value in parameters.items())
    page.wait_for_function(
        f"() => {{const q = new URLSearchParams(location.search); return {wanted}}}", timeout=SETTLE_MS
    )


def test_the_calls_for_ones_own_code_are_one_click_from_the_first_screen(server, open_page):
    page = open_page(server.url + "/tile_layouts", width=1440, height=900)
    part = page.get_by_text("In code", exact=True)
    box = part.bounding_box()
    assert box["y"] + box["height"] <= 900
    part.click()
    page.get_by_text("from torchao", exact=False).first.wait_for()


def test_pointing_at_tiles_asks_the_server_nothing_and_a_click_takes_numbers_and_stretch(server, open_page):
    page = open_page(server.url + "/tile_layouts")
    sent = messages(page)
    tiles = drawn(page, "deepseek_v3", "fprop")
    before = silent(page, lambda: len(sent), for_ms=500)
    last = None
    for number in (7, 26, 50):
        tiles.nth(number).hover(force=True)
        outlines = in_the_end(page, lambda: boxes(page), lambda now, last=last: len(now) == 3 and now != last)
        assert len(outlines) == 3, "one in each of A, B and D"
        last = outlines
    page.wait_for_timeout(600)
    assert len(sent) == before
    page.mouse.move(2, 2)
    becomes(page, lambda: boxes(page), [])
    tiles.nth(4 * 9 + 3).click(force=True)
    says(page, "x[9, 384:512]")
    wait_for_parameters(page, row="9")
    tiles.nth(12 * 4 + 1).click(force=True)
    wait_for_parameters(page, side="B", stretch="2")


def boxes(page) -> list[str]:
    return page.locator(".hover[width]").evaluate_all("all => all.map(one => one.outerHTML)")


def test_a_click_on_d_shows_that_element_s_sum_and_play_runs_along_k(server, open_page):
    page = open_page(server.url + "/tile_layouts?recipe=mxfp8&matmul=wgrad")
    tiles = drawn(page, "mxfp8", "wgrad")
    tiles.nth(2 * 12 * 4 + 12 * 4 + 7).click(force=True)
    says(page, "D[4, 7]")
    wait_for_parameters(page, row="4", column="7")
    settled(page)
    total = sum(part.value for part in output_parts(shown("mxfp8", "wgrad")[0], 4, 7))
    says(page, short(total))
    bars = page.locator("rect.bar")
    assert bars.count() == 4, "it opens with all that is drawn of K"
    seen = page.locator(".play").evaluate(PLAYED)
    assert min(seen) < seen[-1] == 4


def test_a_pulled_corner_turns_the_tiles_and_the_sum_goes_wrong_until_it_is_pushed_back(server, open_page):
    page = open_page(server.url + "/tile_layouts?matmul=wgrad&row=3&column=5")
    page.wait_for_selector(HANDLE)
    own, *turned = shown("deepseek_v3", "wgrad")
    x, y = center(page, HANDLE)
    with mouse(page, (x, y), (x - 30, y + 10)):
        halfway = in_the_end(page, lambda: turn(page), lambda now: now > 0)
        assert 0 < halfway < len(turned), "while the button is down"
        page.mouse.move(x - 62, y + 150, steps=4)
    wait_for_parameters(page, turn=str(len(turned)))
    settled(page)
    numbers = contraction(turned[-1], own.spec, 3, 5)
    says(page, short(numbers.pulled_out))
    says(page, short(numbers.right))
    assert page.locator(".mark.wrong").count() == 1
    more = turned[-1].tiles(Side.A).scale.size - own.tiles(Side.A).scale.size
    assert page.locator(TILES).count() == tile_count(own) + more
    page.locator(".along").press("Home")
    page.locator(".along").press("ArrowRight")
    says(page, short(numbers.pulled_out_parts[:2].sum()))
    says(page, short(numbers.right_parts[:2].sum()))
    page.locator(HANDLE).press("End")
    page.wait_for_url(lambda url: "turn" not in url)
    settled(page)
    assert page.locator(".mark.wrong").count() == 0
    assert turn(page) == 0


PLAYED = """play => new Promise(done => { const seen = [];
    const look = () => {
        const bars = play.getRootNode().querySelectorAll("rect.bar").length;
        if (bars !== seen.at(-1)) seen.push(bars);
        if (play.dataset.playing === "true") requestAnimationFrame(look); else done(seen); };
    play.click();
    requestAnimationFrame(look); })"""
"""Ends with the play: the numbers of bars, frame by frame."""


def turn(page) -> int:
    """How far the tiles are turned, as a screen reader hears it."""
    handle = page.locator(HANDLE)
    return int(handle.get_attribute("aria-valuemax")) - int(handle.get_attribute("aria-valuenow"))


@pytest.mark.parametrize(("hand", "width"), some_cases(2, {"finger": (finger, 390), "mouse": (mouse, 1440)}))
def test_a_number_of_a_row_that_is_pulled_takes_its_tile_s_window_along(server, open_page, hand, width):
    page = open_page(server.url + "/tile_layouts?show=row&number_k=300", width=width, touch=hand is finger)
    page.wait_for_selector(HANDLE)
    x, y = center(page, HANDLE)
    assert page.locator("circle.dot.lost").count() == 0
    with hand(page, (x, y), (x, y - 90), (x, y - 150)):
        pass
    page.wait_for_url(lambda url: "row_pull=" in url)
    settled(page)
    step = int(page.locator(HANDLE).get_attribute("aria-valuenow")) + int(STEPS[0])
    wait_for_parameters(page, row_pull=str(step))
    lost = np.flatnonzero(is_lost(pull(shown()[0], 5, 300, step), 5)).tolist()
    assert lost
    becomes(page, lambda: lost_in(page), lost)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0
    page.locator(HANDLE).press("ArrowDown")
    wait_for_parameters(page, row_pull=str(step - 1))


def test_the_overview_opens_a_picture_by_a_click_each_time(server, open_page):
    page = open_page(server.url + "/tile_layouts?show=overview&family=mx")
    *_, last = (name for name, recipe in RECIPES.items() if recipe.family is Family.MX)
    for _ in range(2):
        page.wait_for_selector(CELLS, timeout=SETTLE_MS)
        page.locator(CELLS).last.click(force=True)
        drawn(page, last, "wgrad")
        wait_for_parameters(page, recipe=last, matmul="wgrad")
        choose(page, "Every recipe")
