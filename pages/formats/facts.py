"""The controls and the facts of the page "Formats"."""

from pages.formats import code, compare, gradients, overflow
from pages.formats.controls import OWN_CONTROLS, SHOW

CONTROLS = (SHOW, *OWN_CONTROLS, *code.CONTROLS, *compare.CONTROLS, *gradients.CONTROLS, *overflow.CONTROLS)
FACTS = {**code.FACTS, **compare.FACTS, **gradients.FACTS, **overflow.FACTS}
