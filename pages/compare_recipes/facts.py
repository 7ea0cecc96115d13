"""The controls and the facts of the page "Compare recipes"."""

from fp8core.experiments.error_curves import BAND_K, EXTENTS, Draws
from fp8core.recipes import RECIPES, Family
from fp8core.recipes.keys import OWN_TITLE
from fp8core.recipes.text import OWN_NAME
from pages.compare_recipes.charts.curves import LINE, size_curve, small_error
from pages.compare_recipes.charts.table import CORNER
from pages.kit.shared_controls import INPUT, OWN, SEED, by_family, family_title, format_options, is_element
from pages.kit.widgets import Choice, Select, Settings, Several, Whole

MOST, CHOSEN = 5, "chosen"

SHOW = Choice(key="differ_show", label="Show", options={"table": "Three differences", "size": "Tile size"})
WHICH = Select(
    key="differ_family",
    label="Which recipes",
    options={CHOSEN: "Your choice"}
    | {family.name.lower(): family_title(family.value) for family in by_family()},
)
COMPARED = Several(
    key="differ_recipes",
    label=f"Recipes, up to {MOST}",
    options={name: recipe.title for name, recipe in RECIPES.items()} | {OWN_NAME: OWN_TITLE},
    default=[recipes[0].name for recipes in by_family().values()],
    most=MOST,
)
FORMAT = Select(
    key="differ_format",
    label="Format of the codes",
    options=format_options(is_element),
    default="e2m1",
    help="A narrow format has little range of its own, so its tiles matter most.",
)

NUMBER = Whole(key="differ_number", label="Column of the gold number", low=0, high=CORNER[1] - 1, default=132)

CONTROLS = (SHOW, WHICH, COMPARED, OWN, INPUT, SEED, FORMAT, NUMBER)


def shown_recipes(which: str, names: list[str]) -> tuple[str, ...]:
    if which == CHOSEN:
        return tuple(names)
    return tuple(recipe.name for recipe in by_family()[Family[which.upper()]])


_SHORT, _LONG = EXTENTS[0], BAND_K


def _small(settings: Settings, extent: int) -> Draws:
    """The smaller half of the elements, in tiles of one line with fp32 scales."""
    numbers = settings[FORMAT.key], settings[INPUT.key], settings[SEED.key]
    return size_curve("fp32", LINE, *numbers, (extent,)).small[0]


FACTS = {
    "shortest": lambda _: _SHORT,
    "longest": lambda _: _LONG,
    "error_shortest": lambda settings: small_error(_small(settings, _SHORT))[0],
    "error_longest": lambda settings: small_error(_small(settings, _LONG))[0],
    "bits_shortest": lambda settings: _small(settings, _SHORT).bits,
    "bits_longest": lambda settings: _small(settings, _LONG).bits,
}
