"""The controls and the facts of the page "Scaling"."""

from pages.kit.shared_controls import SEED
from pages.scaling import delayed, rules, window
from pages.scaling.controls import ROLE, SHOW

CONTROLS = (SHOW, SEED, ROLE, *window.CONTROLS, *rules.CONTROLS, *delayed.CONTROLS)
FACTS = {**window.FACTS, **rules.FACTS, **delayed.FACTS}
