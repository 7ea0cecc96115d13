"""Facts of the page "Design a recipe" for the lesson."""

from pages.design.derived import Facts, facts
from pages.design.draft import ALL_CONTROLS, BEGIN, draft_of
from pages.kit.shared_controls import OWN
from pages.kit.widgets import Settings

CONTROLS = ALL_CONTROLS


def _derived(settings: Settings) -> Facts:
    return facts(draft_of(settings[OWN.key], settings[BEGIN.key]).line)


FACTS = {
    "bits": lambda settings: _derived(settings).bits,
    "copies": lambda settings: len(_derived(settings).copies),
}
