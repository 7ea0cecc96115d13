"""Section "One pass or two": the numbers that a code waits for, who can write it, the bytes of each way."""

from collections import Counter
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from math import isqrt, prod

from fp8core.costs import copy_cost
from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, OPERANDS, LayerShape, LayerTensor
from fp8core.reach import Home, Reach, joined, reach
from fp8core.recipes import RECIPES, Copy, Recipe
from fp8core.tiles import WHOLE
from kernels.measure.peak_rates import PeakRates, Rate
from kernels.quantize.facts import MOST_ELEMENTS
from pages.fused.charts.amax import Panel, legend, reach_chart
from pages.fused.rows import TOKENS, layer_of
from pages.kit.charts.bars import Bar, bars
from pages.kit.charts.words import NONE, bytes_text, count, short, stored_tile
from pages.kit.controls import Controls
from pages.kit.look.presenter import projected
from pages.kit.shared_controls import GPU, card, draw_recipe, draw_source
from pages.kit.tables import grid
from pages.kit.view import draw_chart, draw_notice, here, notices_wait, page_ink, room, stage
from pages.kit.widgets import Choice

SIDE = isqrt(MOST_ELEMENTS)  # rows and columns of a square block that one program holds
_BF16_BYTES = FORMATS["bf16"].packed_bits // 8


def out_of_rows(code: Reach) -> str:
    """Can a step write the code whose programs have whole rows, such as RMSNorm?"""
    if code.earlier or code.lies_in(1, WHOLE):
        return "yes"
    return "reads twice" if code.home is Home.TILE else "no"


def out_of_blocks(code: Reach) -> str:
    """Can a step write the code whose programs have a square block, such as SwiGLU or a matmul?"""
    return "yes" if code.earlier or code.lies_in(SIDE, SIDE) else "no"


class Strategy(Enum):
    APART = "two passes per copy"
    FEWEST = "each copy in few passes"
    TOGETHER = "all copies in one read"
    BEFORE = "in the step that writes it"


# Pieces of the bytes that quantizing moves, and their names in the picture.
PIECES = {"amax": "read for amax", "cast": "read to cast", "codes": "codes", "scales": "scales"}


def together(copies: Sequence[Copy]) -> Reach:
    """The joint reach of these copies' codes. Raises ValueError for none."""
    return joined(reach(copy.operand) for copy in copies)


def layer_traffic(recipe: Recipe, layer: LayerShape, strategy: Strategy) -> Counter[str]:
    """Bytes of each of PIECES that quantizing x, w and dy moves in one training step."""
    traffic: Counter[str] = Counter()
    for tensor in OPERANDS:
        if copies := recipe.quantized_copies(tensor):
            once = _BF16_BYTES * prod(layer.of(tensor))
            amax, casts = _reads(copies, layer.of(tensor), strategy)
            traffic.update(amax=amax * once, cast=casts * once)
        for copy in copies:
            cost = copy_cost(copy, layer)
            traffic.update(codes=cost.code_bytes, scales=cost.scale_bytes)
    return traffic


def _reads(copies: Sequence[Copy], shape: tuple[int, int], strategy: Strategy) -> tuple[int, int]:
    """Reads of a tensor for amax, and reads to cast it."""
    reaches, every = [reach(copy.operand) for copy in copies], together(copies)
    layouts = sum(len(copy.k_major) for copy in copies)
    match strategy:
        case Strategy.APART:
            return sum(not one.earlier for one in reaches), layouts
        case Strategy.FEWEST:
            return sum(one.reads(shape, MOST_ELEMENTS) - 1 for one in reaches), layouts
        case Strategy.TOGETHER:
            return every.reads(shape, MOST_ELEMENTS) - 1, 1
        case Strategy.BEFORE:
            # The step before knows its amax as it writes; where that does not suffice, a cast pass remains.
            return 0, int(out_of_blocks(every) == "no")


def least_us(bytes_: int, rates: PeakRates) -> float:
    return bytes_ / rates.memory_gb_s / 1e3


def matmuls_us(layer: LayerShape, rates: PeakRates) -> float:
    """The least time of the layer's three matmuls in fp8, or in bf16 where a GPU has no fp8."""
    peak = rates.tflop_s[Rate.FP8] or rates.tflop_s[Rate.BF16] or 0.0
    return len(MATMULS) * 2 * layer.tokens * layer.in_ * layer.out / peak / 1e6


TENSOR = Choice(
    key="fused_tensor",
    label="Tensor",
    options={tensor.value: tensor.value for tensor in OPERANDS},
    default=LayerTensor.X.value,
    help="Each is read by two of the layer's three matmuls.",
)

IDEA = (
    "A code is written once its **scale** is known, and the scale needs the largest number of the tile, its "
    "**amax**. So ask of each recipe: **where does the amax live?** If one program holds the whole tile, one "
    "pass over the tensor is enough. Then the step that makes the tensor can quantize it on its way out. If "
    "the amax is that of the whole tensor, a first pass must end before the first code is written."
)
READING = (
    f"A program holds at most {MOST_ELEMENTS:,} numbers here. One of RMSNorm has whole rows, so it knows the "
    "amax of a row. For a tile of several rows it reads its input again, once their mean squares are known. "
    f"One of SwiGLU, of a matmul or of the optimizer's update has a block of {SIDE} × {SIDE}. Bytes: each "
    "number read once a pass in bf16, each code written once a layout. A thin tile is drawn thicker. "
    "The rates are those of a datasheet."
)
HEAD = (
    "recipe",
    "amax lives in",
    "reads of " + " / ".join(tensor.value for tensor in OPERANDS),
    "x out of RMSNorm, by rows",
    "x out of SwiGLU or a matmul, by blocks",
)
_MIB = 1 << 20
# The share of the panels in the height, above the chart of bytes; and pixels of their legend.
_PANELS, _FLAT_PANELS, _LEGEND = 0.38, 0.33, 24


def show(controls: Controls) -> None:
    view = here()
    recipe = draw_recipe(controls, view.control)
    tensor = LayerTensor(controls.draw(TENSOR, view.control))
    layer = layer_of(controls.draw(TOKENS))
    rates, ink = card(controls.draw(GPU)), page_ink()
    draw_notice(notice(recipe, layer, rates))
    share = _FLAT_PANELS if projected() else _PANELS
    each, place = panels(recipe, tensor, layer), stage().container(key="fused_amax", gap=None)
    if each:
        draw_chart(
            reach_chart(each, SIDE, int(share * room()) - _LEGEND, ink),
            key="fused_reach",
            place=place,
            alt=f"{tensor.value}: "
            + "; ".join(f"{one.head} {one.waits}, {one.verdict}".replace("\n", " ") for one in each),
        )
        place.html(legend(ink))
        rows, columns = layer.of(tensor)
        view.know.markdown(
            f"**Where does the amax live?** {tensor.value} has {rows:,} × {columns:,} numbers. Each square "
            f"is what one program holds here, {SIDE} × {SIDE} of them. The dot is a code, the blue field the "
            "numbers that it waits for."
        )
    else:
        place.info(f"Both matmuls read {tensor.value} in bf16: there is nothing to quantize.")
    ways = byte_bars(recipe, layer, rates)
    draw_chart(
        bars(ways, {name: name for name in PIECES.values()}, "MiB", int((1 - share) * room()), ink),
        key="fused_bytes",
        place=place,
        alt="Bytes that quantizing moves: " + "; ".join(f"{way.name} {way.label}" for way in ways),
    )
    view.know.markdown(IDEA)
    view.know.html(grid(HEAD, table_of_recipes(layer), ink, names=3, is_sticky=True))
    view.know.caption(READING)
    draw_source(recipe)


def panels(recipe: Recipe, tensor: LayerTensor, layer: LayerShape) -> list[Panel]:
    copies, shape = recipe.quantized_copies(tensor), layer.of(tensor)
    heads = [
        (" and ".join(matmul.title for matmul, _ in one.readers), one.tile, reach(one.operand))
        for one in copies
    ]
    if len(copies) > 1:
        both = together(copies)
        heads.append(("both", (both.rows, both.columns), both))
    each = []
    for who, tile, code in heads:
        verdict = "one read" if code.reads(shape, MOST_ELEMENTS) == 1 else "two reads:\namax, then codes"
        numbers = count(code.numbers(shape), "number")
        waits = f"{stored_tile(tensor, code.rows, code.columns)}: {numbers}"
        if code.earlier:
            verdict, waits = "one read:\namax is known", "nothing: amax of earlier steps"
        # Until the answer to a lesson's question is locked, the verdict is hidden.
        verdict = "" if notices_wait() else verdict
        head = f"{who}:\n{stored_tile(tensor, *tile)}"
        each.append(Panel(head=head, reach=code, waits=waits, verdict=verdict))
    return each


def byte_bars(recipe: Recipe, layer: LayerShape, rates: PeakRates) -> list[Bar]:
    # Its name is the answer to a lesson's question.
    shown = [strategy for strategy in Strategy if strategy is not Strategy.TOGETHER or not notices_wait()]
    every = {strategy: layer_traffic(recipe, layer, strategy) for strategy in shown}
    return [
        Bar(
            name=strategy.value,
            pieces={name: traffic[piece] / _MIB for piece, name in PIECES.items()},
            label=f"{short(least_us(traffic.total(), rates), 3)} µs, {bytes_text(traffic.total())}",
        )
        for strategy, traffic in every.items()
    ]


def notice(recipe: Recipe, layer: LayerShape, rates: PeakRates) -> str:
    apart, once = (
        least_us(layer_traffic(recipe, layer, one).total(), rates)
        for one in (Strategy.APART, Strategy.TOGETHER)
    )
    if not apart:
        return f"{recipe.title} quantizes nothing."
    return (
        f"Memory needs {short(apart, 3)} µs to quantize in separate passes, and **{short(once, 3)} µs** in "
        f"the fewest reads. The three matmuls need {short(matmuls_us(layer, rates), 3)} µs."
    )


@lru_cache(maxsize=8)
def table_of_recipes(layer: LayerShape) -> list[tuple[str, ...]]:
    return [_recipe_line(recipe, layer) for recipe in RECIPES.values()]


def _recipe_line(recipe: Recipe, layer: LayerShape) -> tuple[str, ...]:
    copies = [copy for tensor in OPERANDS for copy in recipe.quantized_copies(tensor)]
    homes = dict.fromkeys(reach(copy.operand).home.value for copy in copies)
    of_x = recipe.quantized_copies(LayerTensor.X)
    verdicts = [step(together(of_x)) if of_x else NONE for step in (out_of_rows, out_of_blocks)]
    reads = " / ".join(str(reads_of(recipe, tensor, layer) or NONE) for tensor in OPERANDS)
    return recipe.title, ", ".join(homes) or NONE, reads, *verdicts


def reads_of(recipe: Recipe, tensor: LayerTensor, layer: LayerShape) -> int:
    """Reads that make all copies of a tensor in one launch; 0 where it stays bf16."""
    copies = recipe.quantized_copies(tensor)
    return together(copies).reads(layer.of(tensor), MOST_ELEMENTS) if copies else 0
