"""Section "More": four further questions on what quantizing loses."""

from pages.kit.controls import Controls
from pages.kit.view import here
from pages.outliers import int8, parts, readers, real
from pages.outliers.controls import MORE

QUESTIONS = {"parts": parts, "readers": readers, "int8": int8, "real": real}


def show(controls: Controls) -> None:
    """Draw the choice of a question, and its picture."""
    QUESTIONS[controls.draw(MORE, here().control)].show(controls)
