"""The controls of the page "Does the loss notice?"."""

from kernels.layer.plan import LAYER_RECIPES
from kernels.train.job import SIZES
from kernels.train.variants import VARIANTS, Shows
from pages.kit.shared_controls import RECIPE_CONTROLS, SEED
from pages.kit.widgets import Choice, Number, NumberStyle, Select, Several, Text, Toggle

MOST = 6  # recipes in one picture
HELD_OUT, TRAINING, LAYERS, ENDS = "held_out", "training", "layers", "ends"
EARLY, LATE = "early", "late"
PRODUCTS = "products"

SHOW = Choice(
    key="loss_show",
    label="Show",
    options={"curves": "Curves", "train": "Train one", "breaks": "Break it", "elsewhere": "Elsewhere"},
)
SIZE = Choice(
    key="loss_size",
    label="Model",
    options={name: f"{name.upper()}: d {size.width}" for name, size in SIZES.items() if name != "tiny"},
    default="s",
    help="A smaller model reads more text for each of its weights in the same time, so gaps show sooner.",
)
COMPARED = Several(
    key="loss_recipes",
    label=f"Recipes, up to {MOST}",
    options={name: recipe.title for name, recipe in LAYER_RECIPES.items()},
    default=["per_tensor", "deepseek_v3", "mxfp8", "nvfp4", "mxfp4"],
    most=MOST,
)
LOSS = Choice(
    key="loss_of",
    label="Loss on",
    options={HELD_OUT: "Held-out", TRAINING: "Training", LAYERS: "Layers", ENDS: "Ends"},
    help="**Held-out**: files that no step reads, the same for all runs. **Training**: the batches, as in a "
    "log; each line is compared with bf16 of its own seed, which read the same batches. **Layers**: no loss, "
    "but what a recipe does to the tensors of each layer. **Ends**: where each run ended, and how many runs "
    "a difference takes.",
)
PLAIN = Toggle(key="loss_bf16", label="bf16 itself, without a recipe")
LAST_BF16 = Toggle(
    key="loss_last_bf16",
    label="Last block in bf16",
    help="What published FP4 runs do with their last layers.",
)
HEAD = Toggle(key="loss_head", label="Quantize the head, too", help="The head gives a number for each byte.")
INSIDE = Select(
    key="loss_inside",
    label="Run of",
    options={name: recipe.title for name, recipe in LAYER_RECIPES.items()}
    | {name: variant.title for name, variant in VARIANTS.items()},
    default="nvfp4",
)
METRIC = Select(
    key="loss_metric",
    label="Statistic",
    options={
        "sqnr_db": "SQNR of x, w, dy",
        PRODUCTS: "SQNR of y, dx, dw",
        "underflows_percent": "underflows%",
        "overflows_percent": "overflows%",
        "scale_inv_min": "scale_inv_min",
        "scale_inv_max": "scale_inv_max",
        "mse": "mse",
    },
    default="underflows_percent",
)
WHEN = Choice(key="loss_when", label="Taken", options={EARLY: "Early", LATE: "Late"}, default=LATE)
CHANGE = Select(
    key="loss_change",
    label="What is changed",
    options={
        name: variant.title + ("" if variant.shows is Shows.BREAKS else " (no harm here)")
        for name, variant in VARIANTS.items()
    },
)
DELTA = Number(
    key="loss_delta",
    label="Difference to be shown, %",
    low=0.02,
    high=2.0,
    default=0.2,
    step=0.02,
    style=NumberStyle.SLIDER,
)
OPEN_RUN = Text(
    key="loss_run",
    label="Open a run, or all of a recipe",
    longest=40,
    default="",
    placeholder="recipe.seed, such as nvfp4.2",
    help="A click on the end of a line sets it.",
)

ALL_CONTROLS = (
    *(SHOW, SIZE, COMPARED, LOSS, *RECIPE_CONTROLS, SEED, PLAIN, LAST_BF16, HEAD),
    *(INSIDE, METRIC, WHEN, CHANGE, DELTA, OPEN_RUN),
)
