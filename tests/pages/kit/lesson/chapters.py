"""A chapter for tests, whole and right, and ways to break it."""

from pathlib import Path

from pages.kit.lesson.chapter import LESSONS, chapter_files

FILES = chapter_files(LESSONS)
GOOD = """
title = "Scales"
minutes = 9
after = []

[[steps]]
title = "One"
page = "scaling"
set = { scaling = "window" }
text = "It ends at {scaling.largest:g}, and $2^{-9}$ is the smallest."
do = "Look at it."

[[steps]]
title = "Two"
page = "scaling"
set = { scaling_input = "gaussian", scaling_log2 = 1 }
text = "Text."
do = "Look at it."
[steps.predict]
ask = "How many become zero?"
kind = "choice"
truth = "scaling.zeros_share"
options = [ { say = "Few", below = 0.5 }, { say = "Many", from = 0.5 } ]
reveal = "{truth:.0%} do."

[[steps]]
title = "Three"
page = "scaling"
set = { scaling_input = "gaussian" }
text = "Without a scale, SQNR is {scaling.sqnr_db:.0f} dB."
do = "Look at it."
[steps.predict]
ask = "And of gradients?"
kind = "axis"
truth = "scaling.amax_sqnr_db"
then = { scaling_input = "gradient_like" }
low = 1
high = 100
log = true
unit = "dB"
close_factor = 2
reveal = "{truth:.0f} dB, with {scaling.zeros_share:.0%} zeros."
"""


def written(folder: Path, *changes: tuple[str, str], name: str = "03_scaling.toml") -> Path:
    """The file of the chapter, with each text replaced by another."""
    text = GOOD
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
