"""Controls of several pages: a value chosen on one is there on the next."""

from collections.abc import Callable

from fp8core.formats import FORMATS, Format
from fp8core.inputs import INPUT_NOTES, LAWS, OFFERED, InputKind
from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES
from fp8core.recipes.text import LONGEST, OWN_NAME
from kernels.device import HOPPER
from kernels.measure.peak_rates import PEAK_RATES, PeakRates, peak_rates_of
from kernels.measure.records import slug
from pages.kit.widgets import Choice, Select, Text, Whole

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
