"""The controls and the facts of the page "Scaling"."""

from pages.kit.shared_controls import SEED
from pages.kit.widgets import Choice
from pages.scaling import delayed, rules, window

SHOW = Choice(
    key="scaling",
    label="Show",
    options={"window": "One scale", "rules": "The scale's own format", "delayed": "Now or delayed"},
)
CONTROLS = (SHOW, SEED, window.ROLE, *window.CONTROLS, *rules.CONTROLS, *delayed.CONTROLS)
FACTS = {**window.FACTS, **rules.FACTS, **delayed.FACTS}
