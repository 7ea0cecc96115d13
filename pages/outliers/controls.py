"""The controls of the page "Outliers"."""

from fp8core.experiments.error_curves import Counted
from fp8core.experiments.rounded_checkpoint import Reading
from fp8core.inputs import INPUT_NOTES, LAWS, OFFERED, OUTLIER_EVERY, OUTLIER_FACTOR, RECORDED, InputKind
from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES
from fp8core.recipes.keys import OWN_TITLE
from fp8core.recipes.text import OWN_NAME
from pages.kit.shared_controls import INPUT_TITLES, OWN, SEED, format_options, input_help, is_element
from pages.kit.widgets import Choice, Select, Several, Text, Whole
from pages.outliers.tensor_file import MAX_BYTES, MAX_TENSORS

MOST = 4  # recipes side by side

SHOW = Choice(
    key="outliers_show",
    label="Show",
    options={"map": "Error map", "lines": "Small channels", "matmuls": "Three matmuls", "more": "More"},
)
MORE = Select(
    key="outliers_more",
    label="Question",
    options={
        "parts": "What is lost",
        "readers": "Two readers",
        "crest": "Crest factor",
        "int8": "Against int8",
        "story": "A story",
    }
    | ({"real": "Real tensors"} if len(OFFERED) > len(LAWS) else {}),
)
RECIPES_SHOWN = Several(
    key="recipes",
    label=f"Recipes, up to {MOST}",
    options={name: recipe.title for name, recipe in RECIPES.items()} | {OWN_NAME: OWN_TITLE},
    default=["per_tensor", "mxfp8", "mxfp4", "nvfp4"],
    most=MOST,
)
UPLOAD = "upload"
DATA = Select(
    key="outliers_data",
    label="Numbers",
    options=INPUT_TITLES | {UPLOAD: "A matrix of yours"},
    default="outlier_channels",
    help=input_help(lambda kind: INPUT_NOTES[kind].rule),
)
FACTOR = Select(
    key="outliers_factor",
    label="How much larger the outliers are",
    options={factor: f"× {factor}" for factor in (1, 2, 5, 10, 20, 50, 100, 200, 500)},
    default=round(OUTLIER_FACTOR),
)
EVERY = Select(
    key="outliers_every",
    label="Channels from one outlier to the next",
    options={every: str(every) for every in (16, 32, 48, 64, 80, OUTLIER_EVERY, 128)},
    default=OUTLIER_EVERY,
)
FACTORS = (5, round(OUTLIER_FACTOR), 500)  # with a button each
NUMBERS = Text(
    key="outliers_numbers",
    label="Numbers of a tile",
    default="",
    longest=24,
    placeholder="3.240.32",
    help="A recipe by its place in the list, a row and a column. A click on a map writes them here, and the "
    "numbers of the tile stand below the maps.",
)
SIZE = Select(
    key="outliers_size",
    label="Rows × columns",
    options={f"{rows}x{2 * rows}": f"{rows:,} × {2 * rows:,}" for rows in (256, 512, 1024)},
    default="512x1024",
)
ROLE = Select(
    key="role",
    label="Quantized as",
    options={
        f"{name}_{side.value.lower()}": f"{matmul.operand(side).value} in {matmul.title}"
        for name, matmul in MATMULS.items()
        for side in Side
    },
    default="fprop_a",
    help="The operand whose format, tiles and scales are used.",
)
# The page offers the tensors of the file.
TENSOR = Select(
    key="tensor",
    label="Tensor",
    options={str(number): str(number) for number in range(MAX_TENSORS)},
    default="0",
)
MATRIX = Whole(
    key="matrix",
    label="Matrix of the tensor",
    low=0,
    high=MAX_BYTES,
    default=0,
    help="A tensor of more than two dims holds many matrices, in the order in which they lie in memory.",
)
FIRST_ROW = Whole(key="first_row", label="First row", low=0, high=MAX_BYTES, default=0)
FIRST_COLUMN = Whole(key="first_column", label="First column", low=0, high=MAX_BYTES, default=0)
LINES = Choice(
    key="lines",
    label="Lines",
    options={"channels": "Channels (columns)", "tokens": "Tokens (rows)"},
)
COUNTED = Choice(
    key="counted",
    label="SQNR of",
    options={counted.name.lower(): counted.value for counted in Counted},
    default=Counted.ALL.name.lower(),
    help="The smaller half are the elements with |x| below its median.",
)
READERS_FORMAT = Select(
    key="readers_format",
    label="Format of the bare tiles",
    options=format_options(is_element),
    default="e2m1",
)
READERS_SCALE = Choice(
    key="readers_scale",
    label="Scales of the bare tiles",
    options={"e8m0_round_up": "power of two", "fp32": "fp32"},
    help="A power of two only shifts a float's exponent, so that the copies differ where little is left of a "
    "number. An fp32 scale moves every number to another place between two codes.",
)
READING = Select(
    key="reading",
    label="The checkpoint is read with",
    options={reading.name.lower(): reading.value for reading in Reading},
    default=Reading.MADE_ANEW.name.lower(),
)
REAL = Select(
    key="outliers_real",
    label="Layer and step",
    options={kind.value: INPUT_NOTES[kind].title for kind in RECORDED},
    default=InputKind.REAL_DOWN_LATE.value,
)

ALL_CONTROLS = (
    *(SHOW, MORE, RECIPES_SHOWN, OWN, DATA, FACTOR, EVERY, NUMBERS, SIZE, TENSOR, MATRIX, FIRST_ROW),
    *(FIRST_COLUMN, ROLE, SEED, LINES, COUNTED, READERS_FORMAT, READERS_SCALE, READING, REAL),
)
