"""The controls of the page "Tile layouts", and its facts for the lesson."""

from math import prod

from fp8core.contraction import rescales_per_output
from fp8core.costs import bits_per_element, copy_cost, matmul_rescales
from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, OPERANDS, LayerShape, LayerTensor, Matmul, Side
from fp8core.recipes import RECIPES, Copy, Recipe
from fp8core.tiles import WHOLE, Extent
from pages.kit.charts.words import stored_tile
from pages.kit.shared_controls import INPUT, MATMUL, RECIPE, RECIPE_CONTROLS, SEED, by_family, family_title
from pages.kit.stage.window import pull_of
from pages.kit.widgets import Choice, Select, Settings, Whole

LARGEST_DIM = 1 << 17
ALL = "all"

SHOW = Choice(
    key="show",
    label="Show",
    options={
        "picture": "One matmul",
        "row": "One row",
        "overview": "Every recipe",
        "copies": "Copies",
        "rule": "The rule",
    },
    moved={"counts": "copies"},
)
EACH = "each"
FAMILY = Select(
    key="family",
    label="Recipes",
    options={EACH: "One of each family"}
    | {family.name.lower(): family_title(family.value) for family in by_family()},
    help="The recipes whose pictures stand side by side.",
)

SIDE = Choice(key="side", label="Tile of", options={side.value: side.value for side in Side}, default="A")
ROW = Whole(key="row", label="Row of A and D", low=0, high=LARGEST_DIM, default=5)
COLUMN = Whole(key="column", label="Column of B and D", low=0, high=LARGEST_DIM, default=0)
STRETCH = Whole(key="stretch", label="Stretches of K, summed (0: all)", low=0, high=LARGEST_DIM, default=0)
TURN = Whole(key="turn", label="Tiles of A turned, in steps", low=0, high=8, default=0)
NUMBER = Whole(key="number_k", label="The gold number, along K", low=0, high=LARGEST_DIM, default=20)
PULL = pull_of("row_pull")

TOKENS = Whole(key="tokens", label="tokens", low=1, high=LARGEST_DIM, default=4096)
IN = Whole(key="in", label="in", low=1, high=LARGEST_DIM, default=4096)
OUT = Whole(key="out", label="out", low=1, high=LARGEST_DIM, default=14336)

LARGEST_EXTENT = 1 << 7
_SIZES = [str(1 << power) for power in range(8)]
_EXTENTS = {size: size for size in (*_SIZES, ALL)}
A_MN = Select(key="a_m", label="A: along m", options=_EXTENTS, default="1")
A_K = Select(
    key="a_k",
    label="A: along k",
    options={size: f"A: {size} along k" for size in _EXTENTS},
    default="128",
)
B_MN = Select(key="b_n", label="B: along n", options=_EXTENTS, default="128")
B_K = Select(key="b_k", label="B: along k", options=_EXTENTS, default="128")
SUMMED = Select(
    key="summed",
    label="Tensor core sums",
    options={size: f"Sums {size} products" for size in _SIZES[4:]} | {ALL: "Sums all of K"},
    default="128",
    help="How many products along k are added before a scale can be applied.",
)

LAYER_CONTROLS = (TOKENS, IN, OUT)
RULE_CONTROLS = (A_MN, A_K, B_MN, B_K, SUMMED)
CONTROLS = (
    *(SHOW, *RECIPE_CONTROLS, MATMUL, FAMILY, INPUT, SEED),
    *(SIDE, ROW, COLUMN, STRETCH, TURN, NUMBER, PULL, *LAYER_CONTROLS, *RULE_CONTROLS),
)


def extent_of(text: str) -> Extent:
    return WHOLE if text == ALL else int(text)


def _recipe(settings: Settings) -> Recipe:
    return RECIPES[settings[RECIPE.key]]


def _matmul(settings: Settings) -> Matmul:
    return MATMULS[settings[MATMUL.key]]


def _layer(settings: Settings) -> LayerShape:
    return LayerShape(*(settings[control.key] for control in LAYER_CONTROLS))


def _k_size(settings: Settings) -> int:
    return _layer(settings).size(_matmul(settings).k)


def _chosen_rescales(settings: Settings) -> int:
    return rescales_per_output(_k_size(settings), *(extent_of(settings[one.key]) for one in (A_K, B_K)))


def _x_tile(settings: Settings) -> str:
    matmul = _matmul(settings)
    side = matmul.side_of(LayerTensor.X)
    operand = side and _recipe(settings).operand(matmul, side)
    return stored_tile(LayerTensor.X, *operand.tile) if operand else "none"


def _copies(settings: Settings) -> list[Copy]:
    return [copy for tensor in OPERANDS for copy in _recipe(settings).quantized_copies(tensor)]


def _bytes_of_bf16(settings: Settings) -> float:
    """The bytes of all copies over those of x, w and dy in bf16."""
    layer = _layer(settings)
    bits = sum(
        prod(layer.of(copy.tensor)) * bits_per_element(copy.operand, layer.of(copy.tensor))
        for copy in _copies(settings)
    )
    return bits / sum(FORMATS["bf16"].bits * prod(layer.of(tensor)) for tensor in OPERANDS)


def _scale_share(settings: Settings) -> float:
    costs = [copy_cost(copy, _layer(settings)) for copy in _copies(settings)]
    return sum(cost.scale_bytes for cost in costs) / sum(cost.code_bytes for cost in costs)


def _operand_bits(settings: Settings) -> float:
    matmul = _matmul(settings)
    return bits_per_element(_recipe(settings).operand(matmul, Side.A), _layer(settings).of(matmul.a))


FACTS = {
    "k_axis": lambda settings: _matmul(settings).k.value,
    "k_size": _k_size,
    "chosen_rescales": _chosen_rescales,
    "rescales": lambda settings: matmul_rescales(_recipe(settings), _matmul(settings), _layer(settings)),
    "x_tile": _x_tile,
    "copies": lambda settings: len(_copies(settings)),
    "bytes_of_bf16": _bytes_of_bf16,
    "scale_share": _scale_share,
    "operand_bits": _operand_bits,
}
