"""The controls of the page "Glossary"."""

from pages.kit.terms.explain import TERM as TERM_KEY
from pages.kit.terms.glossary import glossary
from pages.kit.widgets import Choice, ChoiceStyle, Text

EVERY = ""

FIND = Text(
    key="find",
    label="Search",
    longest=60,
    default="",
    placeholder="Search: scale",
    help="Terms whose names or sentences hold all of these words.",
)
TERM = Choice(
    key=TERM_KEY,
    label="One term",
    options={EVERY: "All terms"} | {slug: term.term for slug, term in glossary().by_slug.items()},
    default=EVERY,
    style=ChoiceStyle.SELECT,
)

ALL_CONTROLS = (FIND, TERM)
