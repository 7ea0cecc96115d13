"""The recipe of a page: a published one, chosen by its family, or the reader's own from the address.

    controls = Controls(*RECIPE_CONTROLS, MATMUL)
    recipe = draw_recipe(controls, st.sidebar)     # two lists: the family, and its recipes
    recipe = recipe_of(controls)                   # the same where nothing is drawn

The family is not in the address, because it follows from the recipe.

The list of recipes is another widget in each family. A reader who turns to a family and at once clicks
elsewhere sends what the list showed before: that must not undo the new recipe.
"""

import streamlit as st

from fp8core.recipes import RECIPES, Family, Recipe
from fp8core.recipes.text import own_recipe
from pages.kit.controls import Controls, Value
from pages.kit.inert import plain
from pages.kit.reported import reported
from pages.kit.shared_controls import OWN, RECIPE
from pages.kit.widgets import Place

RECIPE_CONTROLS = (RECIPE, OWN)
"""The controls that a page with a recipe declares."""
FAMILY_KEY = "recipe_family"
_LAST = "_recipe_of_family"
_FAMILY_WIDTH, _RECIPE_WIDTH, _GAP = 130, 240, 16
_NO_LINE = (
    "You have no recipe of your own in this address. The page “Design a recipe” makes one. "
    "Until then this page shows {title}."
)
_BAD_LINE = "Your own recipe cannot be read: {reason}. Shown instead: {title}."


def recipe_of(controls: Controls) -> Recipe:
    """The recipe that is chosen; the default one where the reader's own is missing or cannot be read."""
    recipe, _ = _found(controls)
    return recipe


def recipe_values(controls: Controls) -> dict[str, str]:
    """The chosen recipe as a job names it: `recipe`, and `own`, its line where it is the reader's own."""
    recipe, problem = _found(controls)
    is_own = controls.value(RECIPE) not in RECIPES and not problem
    return {"recipe": recipe.name, "own": controls.value(OWN) if is_own else ""}


def recipe_params(recipe: str, own: str = "") -> dict[str, Value]:
    """The controls that a link to another page sets for a recipe, by key."""
    return {RECIPE.key: recipe} | ({OWN.key: own} if own else {})


def draw_recipe(controls: Controls, place: Place | None = None) -> Recipe:
    """Draw a list of families and one of the chosen family's recipes; returns the recipe.

    Another family brings back the recipe that was chosen in it last, or its first.
    """
    place = st if place is None else place
    family = _family(controls.value(RECIPE))
    both = place.container(width=_FAMILY_WIDTH + _RECIPE_WIDTH + _GAP)
    row = both.container(horizontal=True, gap="small")
    st.session_state[FAMILY_KEY] = family.value
    row.container(width=_FAMILY_WIDTH).selectbox(
        "Family",
        [one.value for one in families()],
        key=FAMILY_KEY,
        format_func=family_title,
        on_change=_turn,
        args=(controls,),
        help="What a scale is attached to.",
    )
    name = _draw_list(controls, family, row.container(width=_RECIPE_WIDTH))
    st.session_state.setdefault(_LAST, {})[family.value] = name
    recipe, problem = _found(controls)
    if problem:
        both.warning(problem)
    return recipe


def list_key(family: Family) -> str:
    """The key of the list of a family's recipes."""
    return f"{RECIPE.key}_of_{family.name.lower()}"


def draw_source(recipe: Recipe) -> None:
    """Draw where a recipe is described, and what its entry cannot say."""
    if recipe.remark:
        st.caption(f"**{recipe.title}**: {recipe.remark}")
    if recipe.source:
        st.caption(f"Source of this recipe: {recipe.source}.")


def families() -> list[Family]:
    """The families in their order; the reader's own comes last."""
    used = {recipe.family for recipe in RECIPES.values()} | {Family.OWN}
    return [family for family in Family if family in used]


def family_title(name: str) -> str:
    """The name of a family as a title, such as ``Per row``."""
    return name[:1].upper() + name[1:]


def by_family() -> dict[Family, list[Recipe]]:
    """The published recipes of each family, in their order."""
    found = {family: [r for r in RECIPES.values() if r.family is family] for family in Family}
    return {family: recipes for family, recipes in found.items() if recipes}


def _family(name: str) -> Family:
    return RECIPES[name].family if name in RECIPES else Family.OWN


def _options(family: Family) -> dict[str, str]:
    """The recipes of a family, by name, with their titles."""
    return {name: title for name, title in RECIPE.options.items() if _family(name) is family}


def _draw_list(controls: Controls, family: Family, place: Place) -> str:
    """Draw the recipes of a family; returns the chosen one."""
    options, key = _options(family), list_key(family)
    name = controls.within(RECIPE, options=options)
    if st.session_state.get(key) != name:
        st.session_state[key] = name
    place.selectbox(
        RECIPE.label,
        list(options),
        key=key,
        format_func=options.__getitem__,
        on_change=_take,
        args=(controls, key),
        help=RECIPE.help,
    )
    return name


def _take(controls: Controls, key: str) -> None:
    """Take the recipe that was just chosen in the list `key`."""
    if (name := reported(key)) is not None:
        controls.preset(recipe=name)


def _turn(controls: Controls) -> None:
    """Take the recipe of the family that was just chosen."""
    if (chosen := reported(FAMILY_KEY)) is None:
        return
    family = Family(chosen)
    last = st.session_state.get(_LAST, {}).get(family.value)
    options = _options(family)
    controls.preset(recipe=last if last in options else next(iter(options)))


def _found(controls: Controls) -> tuple[Recipe, str]:
    """The recipe, and a sentence on why the reader's own is not shown; empty where nothing is wrong."""
    name, line = controls.value(RECIPE), controls.value(OWN)
    if name in RECIPES:
        return RECIPES[name], ""
    instead = RECIPES[RECIPE.default]
    if not line:
        return instead, _NO_LINE.format(title=instead.title)
    try:
        return own_recipe(line), ""
    except ValueError as refused:
        return instead, _BAD_LINE.format(reason=plain(str(refused)), title=instead.title)
