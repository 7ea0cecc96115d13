"""Contract: the picture follows the pointer without a rerun, a click pins, links and controls redraw it."""

import pytest

from fp8core.linear import MATMULS, LayerShape, Side
from fp8core.recipes import RECIPES, Family
from pages.tile_layouts.charts.scene import drawn_layer
from tests.browser.looks import in_the_end, settled, silent
from tests.sweeps import exhaustive

pytestmark = pytest.mark.browser

LAYER = LayerShape(4096, 4096, 14336)
TILES, CELLS = "g.tiles_marks path", "g.cells_marks path"
OUTLINES = "g.layer_5_marks path"
SETTLE_MS = 30_000


class Wire:
    """Messages from the browser to the server: each asks for a rerun."""

    def __init__(self, page):
        self.sent = 0
        page.on("websocket", lambda socket: socket.on("framesent", self._count))

    def _count(self, _frame):
        self.sent += 1


def rectangles(recipe: str, matmul: str) -> int:
    """Tiles of A and of B, and the parts of D."""
    spec, read = RECIPES[recipe].spec(MATMULS[matmul]), MATMULS[matmul]
    drawn = drawn_layer(read, spec, LAYER)
    shapes = []
    for side in Side:
        rows, columns = RECIPES[recipe].grid(read, side, drawn.of(read.operand(side))).scale_shape
        along_k = rows if read.k_is_rows(side) else columns
        shapes.append((rows * columns, rows * columns // along_k))
    (a, m_parts), (b, n_parts) = shapes
    return a + b + m_parts * n_parts


def drawn(page, recipe: str, matmul: str):
    """Wait until this matmul's rectangles are there; their locator."""
    wanted = rectangles(recipe, matmul)
    page.wait_for_function(
        f"() => document.querySelectorAll('{TILES}').length === {wanted}", timeout=SETTLE_MS
    )
    return page.locator(TILES)


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


def test_pointing_at_tiles_moves_the_bands_and_asks_the_server_nothing(server, open_page):
    page = open_page("about:blank", wait=False)
    wire = Wire(page)
    page.goto(server.url + "/tile_layouts")
    settled(page)
    tiles = drawn(page, "deepseek_v3", "fprop")
    sent = silent(page, lambda: wire.sent, for_ms=500)

    def outlines() -> tuple[str, ...]:
        return tuple(page.locator(OUTLINES).evaluate_all("e => e.map(x => x.getAttribute('d'))"))

    before = last = outlines()
    for number in range(7, 96, 7):
        tiles.nth(number).hover(force=True)
        bands = in_the_end(page, outlines, lambda bands, last=last: bands != last)
        assert bands != last
        assert len(bands) == 3, "one band in each of A, B and D"
        last = bands
    page.wait_for_timeout(600)
    assert wire.sent == sent
    page.mouse.move(2, 2)
    assert in_the_end(page, outlines, lambda bands: bands == before) == before


def test_a_click_pins_the_tile_that_was_clicked(server, open_page):
    page = open_page(server.url + "/tile_layouts")
    tiles = drawn(page, "deepseek_v3", "fprop")
    tiles.nth(4 * 9 + 2).click(force=True)
    says(page, "x[9, 256:384]")
    wait_for_parameters(page, row="9", column="2")
    tiles.nth(12 * 4 + 3).click(force=True)
    says(page, "w[0:128, 384:512]")
    wait_for_parameters(page, side="B", row="3")


@exhaustive
def test_a_second_click_on_a_tile_pins_it_again_after_the_fields_moved_on(server, open_page):
    page = open_page(server.url + "/tile_layouts")
    tiles = drawn(page, "deepseek_v3", "fprop")
    tiles.nth(4 * 9 + 2).click(force=True)
    says(page, "x[9, 256:384]")
    page.get_by_text("More controls", exact=True).click()
    field = page.get_by_label("Tile row")
    field.fill("3")
    field.press("Enter")
    says(page, "x[3, 256:384]")
    settled(page)
    tiles.nth(4 * 9 + 2).click(force=True)
    says(page, "x[9, 256:384]")


def test_a_click_on_d_pins_the_tile_that_it_needs(server, open_page):
    page = open_page(server.url + "/tile_layouts?recipe=rowwise")
    tiles = drawn(page, "rowwise", "fprop")
    tiles.nth(24 + 12 * 4 + 7).click(force=True)
    says(page, "What it adds to D[4, 0]")
    says(page, "x[4, 0:64]")


def test_the_overview_opens_a_picture_by_a_click_each_time(server, open_page):
    page = open_page(server.url + "/tile_layouts?show=overview&family=mx")
    *_, last = (name for name, recipe in RECIPES.items() if recipe.family is Family.MX)
    for _ in range(2):
        page.wait_for_selector(CELLS, timeout=SETTLE_MS)
        page.locator(CELLS).last.click(force=True)
        drawn(page, last, "wgrad")
        wait_for_parameters(page, recipe=last, matmul="wgrad")
        choose(page, "Every recipe")
