"""Draw the picture of each step of the lesson as it opens: `python -m tests.browser.steps [CHAPTER …]`.

Paper shows them. They go to `assets/lessons/pictures`.
"""

import io
import json
import shutil
import sys

from PIL import Image, ImageChops
from playwright.sync_api import Page, sync_playwright

from pages.kit.lesson.library import Place, library
from pages.kit.lesson.pictures import INDEX, PICTURES, path_of, shown_by
from tests.browser.conftest import BROWSERS, FLAGS
from tests.browser.looks import UNMARKED, settled
from tests.serving import serving

COLORS = 64
OF_THIS_MACHINE = {"live_gemm", "sanity_check"}
"""Pages whose picture shows what this machine has measured."""
STAGE = ".st-key-view_stage"
WIDTH, HEIGHT = 1320, 900
MARGIN = 12


def draw(tab: Page, place: Place) -> None:
    tab.wait_for_function(
        "document.querySelectorAll('[data-testid=stSkeleton], [data-testid=stProgress]').length === 0"
    )
    settled(tab)
    tab.wait_for_timeout(2000)
    shot = Image.open(io.BytesIO(tab.locator(STAGE).screenshot(style=UNMARKED))).convert("RGB")
    paper = Image.new("RGB", shot.size, "#ffffff")
    inside = _box_of_ink(shot, paper)
    drawn = shot.crop(inside).quantize(COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    drawn.save(path_of(place), optimize=True)


def _box_of_ink(shot: Image.Image, paper: Image.Image) -> tuple[int, int, int, int]:
    """The part of a picture that is not white, with a margin above and below."""
    box = ImageChops.difference(shot, paper).getbbox() or (0, 0, *shot.size)
    return 0, max(0, box[1] - MARGIN), shot.width, min(shot.height, box[3] + MARGIN)


def main(names: list[str]) -> None:
    """Draw the steps of these chapters, or of all."""
    lessons = library()
    wanted = [place for place in lessons.places if place.step.page not in OF_THIS_MACHINE]
    known = json.loads(INDEX.read_text(encoding="utf-8")) if INDEX.exists() else {}
    PICTURES.mkdir(exist_ok=True)
    path = next(filter(None, map(shutil.which, BROWSERS)))
    with serving() as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=1.25)
        for place in wanted:
            if not names or place.chapter.name in names:
                tab.goto(f"{server.url}/{place.step.page}?lesson={place.key}")
                settled(tab)
                draw(tab, place)
                known[place.key] = shown_by(place.step)
        browser.close()
    kept = {place.key: known[place.key] for place in wanted if place.key in known}
    INDEX.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
