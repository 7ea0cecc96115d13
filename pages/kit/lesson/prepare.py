"""What the lesson tells, computed before a class comes: some facts take a tenth of a second."""

from contextlib import suppress

from pages.kit.lesson.facts import filled, truth_of
from pages.kit.lesson.library import library


def compute_every_fact() -> None:
    """Compute each fact of each step once. One that cannot be computed is told where it is shown."""
    for place in library().places:
        step = place.step
        with suppress(ValueError):
            filled(step.text + step.do, step.settings(is_locked=False))
            if step.predict is not None:
                filled(step.predict.reveal, step.settings(is_locked=True), truth_of(step))
