"""Section "More": further questions on what quantizing loses."""

from pages.kit.controls import Controls
from pages.kit.view import here
from pages.outliers import crest, int8, parts, readers, real, story
from pages.outliers.controls import MORE

QUESTIONS = {
    "parts": parts,
    "readers": readers,
    "crest": crest,
    "int8": int8,
    "story": story,
    "real": real,
}


def show(controls: Controls) -> None:
    """Draw the choice of a question, and its picture."""
    QUESTIONS[controls.draw(MORE, here().control)].show(controls)
