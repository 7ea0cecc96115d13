"""The choice of the numbers that are multiplied, and a word on recorded ones."""

from fp8core.experiments.dot_terms import REAL_TERMS
from fp8core.inputs.recorded import source_of_seed
from pages.accumulation.controls import TERMS
from pages.kit.controls import Controls
from pages.kit.shared_controls import SEED
from pages.kit.view import here
from pages.kit.widgets import Place

_REAL = {kind.value for kind in REAL_TERMS}


def draw_terms_choice(controls: Controls, place: Place | None = None) -> str:
    """Draw the choice and return it. For recorded numbers, name the layer that the seed chose."""
    terms = controls.draw(TERMS, place)
    if terms in _REAL:
        here().know.caption(source_of_seed(controls.value(SEED)))
    return terms
