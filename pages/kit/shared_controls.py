"""Controls of several pages: a value chosen on one is there on the next. And the recipe that they choose."""

from collections.abc import Callable, Iterable

import streamlit as st

from fp8core.formats import FORMATS, Format
from fp8core.inputs import INPUT_NOTES, LAWS, OFFERED, InputKind
from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES, Family, Recipe
from fp8core.recipes.keys import recipe_of_key
from fp8core.recipes.text import LONGEST, OWN_NAME, own_recipe
from kernels.device import HOPPER
from kernels.measure.peak_rates import PEAK_RATES, PeakRates, peak_rates_of
from kernels.measure.records import slug
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.view import here
from pages.kit.widgets import Choice, Place, Select, Text, Value, Whole

RECIPE = Select(
    key="recipe",
    label="Recipe",
    options={name: recipe.title for name, recipe in RECIPES.items()} | {OWN_NAME: "Your own"},
    default="deepseek_v3",
    help="The format, the tiles and the scales of each operand.",
)

MATMUL = Choice(
    key="matmul",
    label="Matmul",
    options={name: name.capitalize() for name in MATMULS},
    default="fprop",
    help="One linear layer trains with three: "
    + ", ".join(f"{m.d.value} = {m.symbol(Side.A)}·{m.symbol(Side.B)}" for m in MATMULS.values()),
)

# Every kind of input, for a list to choose from
INPUT_TITLES = {kind.value: INPUT_NOTES[kind].title for kind in OFFERED}


def input_help(rule_of: Callable[[InputKind], str]) -> str:
    """Write the kinds of input; `rule_of` words the rule of a law."""
    laws = " ".join(f"**{INPUT_NOTES[kind].title}**: {rule_of(kind)}." for kind in LAWS)
    return f"{laws} **Real**: x, w and dy of a layer, as a small language model had them while it trained."


INPUT = Select(
    key="input",
    label="Numbers",
    options=INPUT_TITLES,
    default=InputKind.OUTLIER_CHANNELS.value,
    help="The distribution of the elements of each tensor.",
)

SEED = Whole(
    key="seed", label="Seed", low=0, high=9999, default=0, help="Another seed, other random numbers."
)

OWN = Text(
    key="own",
    label="Your own recipe",
    longest=LONGEST,
    default="",
    help="A whole recipe as a line (fp8core.recipes.text); the page Design a recipe writes it.",
)


def format_options(fits: Callable[[Format], bool]) -> dict[str, str]:
    return {name: name for name, format_ in FORMATS.items() if fits(format_)}


def is_element(format_: Format) -> bool:
    """Return True for formats of scaled numbers: signed, at most a byte."""
    return format_.signed and format_.bytes == 1


def is_narrow(format_: Format) -> bool:
    """Return True for formats with or without a scale: signed, at most two bytes."""
    return format_.signed and format_.bytes <= 2


_CARDS = {slug(rates.name): rates for rates in PEAK_RATES.values()}

GPU = Select(
    key="why_gpu",
    label="GPU",
    options={key: rates.name for key, rates in _CARDS.items()},
    default=slug(peak_rates_of(HOPPER.name).name),
    help="Rates and bandwidth of its datasheet, dense.",
)


def card(key: str) -> PeakRates:
    return _CARDS[key]


RECIPE_CONTROLS = (RECIPE, OWN)  # the controls that a page with a recipe declares
_NO_LINE = "You have no recipe of your own in this address. The page “Design a recipe” makes one."
_BAD_LINE = "Your own recipe cannot be read: {reason}. Shown instead: {title}."


def recipe_values(controls: Controls) -> dict[str, str]:
    """The recipe as a job names it: `recipe`, and `own`, the line of the reader's own."""
    recipe, problem = _recipe_and_problem(controls)
    is_own = controls.value(RECIPE) not in RECIPES and not problem
    return {"recipe": recipe.name, "own": controls.value(OWN) if is_own else ""}


def recipe_params(recipe: str, own: str = "") -> dict[str, Value]:
    return {RECIPE.key: recipe} | ({OWN.key: own} if own else {})


def draw_recipe(controls: Controls, place: Place) -> Recipe:
    controls.draw(RECIPE, place)
    recipe, problem = _recipe_and_problem(controls)
    if problem:
        st.warning(problem)
    return recipe


def draw_source(recipe: Recipe) -> None:
    if recipe.remark:
        here().know.caption(f"**{recipe.title}**: {recipe.remark}")
    if recipe.source:
        here().know.caption(f"Source of this recipe: {recipe.source}.")


def family_title(name: str) -> str:
    return name[:1].upper() + name[1:]


def by_family() -> dict[Family, list[Recipe]]:
    families = {family: [r for r in RECIPES.values() if r.family is family] for family in Family}
    return {family: recipes for family, recipes in families.items() if recipes}


def _recipe_and_problem(controls: Controls) -> tuple[Recipe, str]:
    name, line = controls.value(RECIPE), controls.value(OWN)
    if name in RECIPES:
        return RECIPES[name], ""
    instead = RECIPES[RECIPE.default]
    if not line:
        return instead, f"{_NO_LINE} Until then this page shows {instead.title}."
    try:
        return own_recipe(line), ""
    except ValueError as error:
        return instead, _BAD_LINE.format(reason=plain(str(error)), title=instead.title)


def keys_of(names: Iterable[str], line: str) -> tuple[tuple[str, ...], str]:
    """Keys of recipes by name, and a sentence if the reader's own, `line`, is missing."""
    keys, message = [], ""
    for name in names:
        key = name if name in RECIPES else line
        try:
            recipe_of_key(key)
        except ValueError as error:
            message = f"Your own recipe cannot be read: {error}." if key else _NO_LINE
        else:
            keys.append(key)
    if message:
        message += " Shown are the others." if keys else " Shown instead are those with which the page opens."
    return tuple(keys), message
