"""The controls of the page "Stochastic rounding"."""

from fp8core.experiments.weight_updates import Pull
from fp8core.stochastic import MAX_RANDOM_BITS, Debias
from pages.kit.shared_controls import SEED, format_options, is_element, is_narrow
from pages.kit.widgets import Choice, Number, NumberStyle, Select, Text, Whole

LARGEST_BLUR = 8
SIDE = 224  # pixels of the longer side of a picture
MOST_THROWS = 1000
LEVELS_OF_GRAY = "levels"

SHOW = Choice(
    key="part",
    label="Show",
    options={
        "picture": "The mystery picture",
        "recipes": "Through the recipes",
        "mean": "The mean",
        "training": "In training",
    },
)

ORIGINAL, NEAREST = "original", "nearest"
BESIDE = Choice(
    key="beside",
    label="Compared with",
    options={ORIGINAL: "Beside the original", NEAREST: "Beside nearest"},
    default=NEAREST,
)
WIPE = Whole(
    key="wipe",
    label="Percent of the picture at the left of the line",
    low=0,
    high=100,
    default=36,
    style=NumberStyle.SLIDER,
)
ROW, COLUMN = (
    Whole(key=f"pixel_{name}", label=f"The pixel's {name}", low=0, high=SIDE - 1, default=default)
    for name, default in (("row", 117), ("column", 56))
)
# As `wipe.js` writes them; at most a hundred points.
STROKES = Text(key="strokes", label="Strokes painted on the picture", default="", longest=400)
THROWS = Whole(
    key="thrown",
    label="Throws of the pixel's coin",
    low=0,
    high=MOST_THROWS,
    default=100,
    style=NumberStyle.SLIDER,
)
FOUR_BITS = "four"
ELEMENTS = Choice(
    key="elements",
    label="Numbers",
    options={FOUR_BITS: "All in four bits", "own": "As the recipes have it"},
)
SPOT = Choice(
    key="spot",
    label="A bright spot",
    options={0: "none", 4: "4 × white", 16: "16 × white", 256: "256 × white", 65536: "65,536 × white"},
    default=4,
    help="An outlier. Pull it elsewhere on the picture.",
)
PIXELS = Select(
    key="pixels",
    label="Values a pixel may take",
    options={LEVELS_OF_GRAY: "equal steps", **format_options(is_element)},
    help="Equal steps from black to white, or the positive values of a number format, its largest as white.",
)
LEVELS = Whole(
    key="levels",
    label="Gray levels, black and white included",
    low=2,
    high=16,
    default=2,
    style=NumberStyle.SLIDER,
)
BLUR = Whole(
    key="blur",
    label="Step back: blur, in pixels",
    low=0,
    high=LARGEST_BLUR,
    default=0,
    style=NumberStyle.SLIDER,
    help="Standard deviation of a Gaussian blur of all three pictures. It does what your eye does from afar: "
    "it averages.",
)

_FORMATS = format_options(is_narrow)
FORMAT = Select(key="format", label="Format", options=_FORMATS, default="e2m1")
RANDOM_BITS = Whole(
    key="random_bits",
    label="N, random bits per value",
    low=1,
    high=MAX_RANDOM_BITS,
    default=8,
    style=NumberStyle.SLIDER,
    help="Hardware spends 8 (e2m1), 13 (fp16) or 16 (bf16; fp8, where two values share them).",
)
DEBIAS = Choice(
    key="debias",
    label="Bits below those N",
    options={variant.name.lower(): variant.value for variant in Debias},
    default=Debias.TRUNCATE.name.lower(),
    help="A is what hardware does. B and C (IEEE P3109) take away most of the bias that A leaves.",
)
AROUND = Number(
    key="around",
    label="Around",
    low=0.0,
    high=60000.0,
    step=1.0,
    default=2.0,
    help="The picture shows four gaps between neighboring values, this one near their middle.",
)

A_WEIGHT, A_MATMUL = "weight", "dot"
ROUNDED = Choice(
    key="rounded",
    label="Rounded in training",
    options={A_WEIGHT: "A weight", A_MATMUL: "A matmul"},
)
WEIGHT = Select(key="weight", label="The weight is kept in", options=_FORMATS, default="bf16")
RATE = Choice(
    key="lr",
    label="Learning rate",
    options={rate: f"{rate:g}" for rate in (0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)},
    default=0.001,
)
PULL = Select(
    key="pull",
    label="Gradient",
    options={pull.name.lower(): pull.value for pull in Pull},
    default=Pull.DOWN.name.lower(),
)
STEPS = Whole(
    key="steps", label="Steps", low=100, high=10_000, step=100, default=1000, style=NumberStyle.SLIDER
)

_OF_PICTURES = (BESIDE, WIPE, ROW, COLUMN, STROKES, THROWS, ELEMENTS, SPOT, PIXELS, LEVELS, BLUR)
_OF_NUMBERS = (FORMAT, RANDOM_BITS, DEBIAS, AROUND, ROUNDED, WEIGHT, RATE, PULL, STEPS)
ALL_CONTROLS = (SHOW, SEED, *_OF_PICTURES, *_OF_NUMBERS)
