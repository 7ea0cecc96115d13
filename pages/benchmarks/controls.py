"""The controls of the page "Benchmarks"."""

from collections.abc import Sequence

from fp8core.linear import LayerShape
from fp8core.recipes import Family
from kernels.measure.jobs import CUBE, MNK, SKINNY, STANDARD, Cache
from kernels.measure.random_shapes import MOST_SHAPES
from kernels.measure.records import slug
from pages.kit.gemm.presets import Preset
from pages.kit.shared_controls import MATMUL, RECIPE_CONTROLS, by_family, family_title
from pages.kit.widgets import Choice, Select, Whole

ANY, NO_GPU = "any", "none"
_FEW = max(layer.tokens for layer in SKINNY)


def size_of(mnk: tuple[int, int, int]) -> str:
    """The value of SIZE for a GEMM."""
    return "skinny" if min(mnk) <= _FEW else "large"


def family_key(family: Family) -> str:
    return f"family_{family.name.lower()}"


def _key(shape: MNK | LayerShape) -> str:
    return f"layer_{shape.tokens}" if isinstance(shape, LayerShape) else "x".join(map(str, shape))


# By the name in the address.
SHAPES = {_key(shape): Preset.of(shape) for shape in (CUBE, *STANDARD, *reversed(SKINNY))}

SHOW = Choice(
    key="bench_show",
    label="Show",
    options={
        "ratios": "Against torch",
        "roofline": "Roofline",
        "any_shape": "Any shape",
        "cost": "Cost of a scale",
    },
    moved={"table": "ratios"},
)
CACHE = Choice(
    key="cache",
    label="L2 cache",
    options={Cache.HOT.value: "Hot", Cache.COLD.value: "Cold"},
    help="**Hot**: launches back to back over rotated buffers, as in training; the GPU's power limit shows. "
    "**Cold**: the L2 is flushed before each launch, and each launch is timed alone.",
)
SIZE = Choice(
    key="bench_size",
    label="Shapes",
    options={"large": "Large", "skinny": "Few tokens"},
    help=f"**Few tokens**: one of M, N and K is at most {_FEW}, as in decoding and in fine-grained experts.",
)
SHAPE = Select(
    key="bench_shape",
    label="Shape, M × N × K",
    options={key: preset.label for key, preset in SHAPES.items()},
    default="4096x4096x7168",
)
FAMILY = Select(
    key="bench_family",
    label="Recipes",
    options={ANY: "All"} | {family_key(family): family_title(family.value) for family in by_family()},
)
DRAW_SEED = Whole(
    key="draw_seed",
    label="Seed of the draw",
    low=0,
    high=9999,
    default=0,
    help="Another seed draws other shapes. Equal seeds draw equal shapes, on every machine.",
)
DRAW_COUNT = Choice(
    key="draw_count",
    label="Shapes to draw",
    options={"10": "10", "20": "20", str(MOST_SHAPES): str(MOST_SHAPES)},
    default="20",
)

CONTROLS = (SHOW, MATMUL, CACHE, SIZE, FAMILY, *RECIPE_CONTROLS, SHAPE, DRAW_SEED, DRAW_COUNT)


def gpu_control(names: Sequence[str]) -> Choice:
    options = {slug(name): name for name in names} or {NO_GPU: "none"}
    return Select(key="gpu", label="Measured on", options=options)
