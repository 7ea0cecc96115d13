"""The controls of the page "Design a recipe": the recipe as a line, the operand to change, the input."""

from fp8core.experiments.designs import CELLS
from fp8core.inputs import InputKind, rules
from fp8core.linear import MATMULS, Side
from pages.kit.recipes import by_family, family_title
from pages.kit.shared_controls import INPUT_TITLES, OWN, SEED, input_help
from pages.kit.widgets import Choice, ChoiceStyle, Toggle

SHOW = Choice(
    key="design_show",
    label="Show",
    options={
        "recipe": "Recipe",
        "error": "Error",
        "cost": "Cost",
        "runs": "Who can run it",
    },
    default="recipe",
    moved={"knobs": "error", "text": "recipe"},
)
BEGIN = Choice(
    key="design_from",
    label="Begin with",
    options={
        recipe.name: f"{family_title(family.value)} · {recipe.title}"
        for family, recipes in by_family().items()
        for recipe in recipes
    },
    default="mxfp8",
    style=ChoiceStyle.SELECT,
    help="The published recipe with which the six operands are filled, and with which yours is compared.",
)


def cell_key(matmul: str, side: Side) -> str:
    """The name of an operand in the address."""
    return f"{matmul}_{side.value.lower()}"


CELL_KEYS = {cell_key(matmul, side): (matmul, side) for matmul, side in CELLS}
CELL = Choice(
    key="design_cell",
    label="Operand to change",
    options={
        key: f"{MATMULS[matmul].title} {MATMULS[matmul].operand(side).value}"
        for key, (matmul, side) in CELL_KEYS.items()
    },
    default="fprop_a",
    help="A recipe has six operands: three matmuls with two each. One of them is changed at a time.",
)
FINE = Toggle(
    key="design_fine",
    label="Finer choices: amax floor, history, target, saved copy",
    help="Fields that most recipes leave alone.",
)
INPUT = Choice(
    key="design_input",
    label="Input",
    options=INPUT_TITLES,
    default=InputKind.OUTLIER_CHANNELS.value,
    style=ChoiceStyle.SELECT,
    help=f"The distribution of x, w and dy. {input_help(rules)}",
)
ALL_CONTROLS = (SHOW, BEGIN, OWN, CELL, FINE, INPUT, SEED)
