"""Section "One pass or two": what a code waits for, who can write it, and the bytes of each way."""

from collections.abc import Sequence
from functools import lru_cache

from fp8core.linear import OPERANDS, LayerShape, LayerTensor
from fp8core.reach import Reach
from fp8core.recipes import RECIPES, Recipe
from kernels.bench.ceilings.peak_rates import PeakRates
from kernels.quantize.plan import HELD
from pages.fused.charts.amax import Moved, Panel, legend, reach_chart, traffic_chart
from pages.fused.controls import TOKENS, layer_of
from pages.fused.passes import (
    BY_BLOCKS,
    BY_ROWS,
    PRODUCERS,
    SIDE,
    Passes,
    Strategy,
    copies_of,
    layer_traffic,
    least_us,
    matmuls_us,
    together,
)
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS, Ink
from pages.kit.charts.template import Filled
from pages.kit.charts.words import bytes_text, count, short, stored_tile
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice, notices_wait
from pages.kit.recipes import draw_recipe, draw_source
from pages.kit.shared_controls import GPU, card
from pages.kit.shell import theme
from pages.kit.tables import grid
from pages.kit.terms.explain import draw_text
from pages.kit.view import here, stage
from pages.kit.widgets import Choice, Place

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
    f"A program holds at most {HELD:,} numbers here. One of RMSNorm has whole rows, so it knows the amax of "
    "a row. For a tile of several rows it reads its input again, once their mean squares are known. One "
    f"of SwiGLU, of a matmul or of the optimizer's update has a block of {SIDE} × {SIDE}. Bytes: each number "
    "read once a pass in bf16, each code written once a layout. A thin tile is drawn thicker. The rates are "
    "those of a datasheet."
)
PIECES = ("read for amax", "read to cast", "codes", "scales")
HEAD = ("copy", "tile", "a code waits for", "passes", *(f"in {one.title}" for one in PRODUCERS))
HEAD_OF_RECIPES = (
    "recipe",
    "amax lives in",
    "reads of " + " / ".join(tensor.value for tensor in OPERANDS),
    "x out of " + BY_ROWS.title,
    "x out of " + BY_BLOCKS.title,
)
_NONE, _LAYERS_KEPT = "–", 8
_MIB = 1 << 20
_PANELS = 0.38
_LEGEND = 24
"""Pixels of the legend below the panels."""
"""The panels' share of the height; below them is the chart of bytes."""
_PASSES = {1: "one", 2: "two"}


def show(controls: Controls) -> None:
    """Draw the tensor with what a code waits for, and the bytes of each way; the table of copies."""
    view = here()
    recipe = draw_recipe(controls, view.control)
    tensor = LayerTensor(controls.draw(TENSOR, view.control))
    layer = layer_of(controls.draw(TOKENS))
    rates, ink = card(controls.draw(GPU)), INKS[theme()]
    draw_notice(notice(recipe, layer, rates))
    drawn, place = panels(recipe, tensor, layer), stage().container(key="fused_amax", gap=None)
    if drawn:
        _draw_panels(drawn, tensor, place)
        rows, columns = layer.of(tensor)
        view.know.markdown(
            f"**Where does the amax live?** {tensor.value} has {rows:,} × {columns:,} numbers. Each square "
            f"is what one program holds here, {SIDE} × {SIDE} of them. The dot is a code, the blue field the "
            "numbers that it waits for."
        )
    else:
        place.info(f"Both matmuls read {tensor.value} in bf16: there is nothing to quantize.")
    draw_chart(
        byte_bars(recipe, layer, rates, ink),
        key="fused_bytes",
        place=place,
        alt="Bytes that quantizing moves: "
        + "; ".join(f"{one.value} {bytes_text(layer_traffic(recipe, layer, one).total)}" for one in Strategy),
        is_rigid=True,
    )
    draw_text(IDEA, view.know)
    view.know.html(grid(HEAD, table(recipe, layer), ink, names=3, held=True))
    view.know.markdown("The same for every recipe:")
    view.know.html(grid(HEAD_OF_RECIPES, table_of_recipes(layer), ink, names=3, held=True))
    view.know.caption(READING)
    draw_source(recipe)


def _draw_panels(drawn: Sequence[Panel], tensor: LayerTensor, place: Place) -> None:
    ink = INKS[theme()]
    draw_chart(
        reach_chart(drawn, SIDE, int(_PANELS * room()) - _LEGEND, ink),
        key="fused_reach",
        place=place,
        is_rigid=True,
        alt=f"{tensor.value}: "
        + "; ".join(f"{one.head} {one.waits}, {one.verdict}".replace("\n", " ") for one in drawn),
    )
    place.html(legend(ink))


def panels(recipe: Recipe, tensor: LayerTensor, layer: LayerShape) -> list[Panel]:
    """A picture for each copy of a tensor, and one for all of them in one pass where there are several."""
    copies, shape = copies_of(recipe, tensor), layer.of(tensor)
    heads = [(_readers(one), one.copy.tile, one.reach) for one in copies]
    if len(copies) > 1:
        both = together(copies)
        heads.append(("both", (both.rows, both.columns), both))
    return [
        Panel(
            head=f"{who}:\n{stored_tile(tensor, *tile)}",
            reach=needed,
            waits=waits(needed, tensor, shape),
            # A step of a lesson asks for it: it waits for the answer.
            verdict="" if notices_wait() else _verdict(needed.reads(shape, HELD), needed),
        )
        for who, tile, needed in heads
    ]


def waits(needed: Reach, tensor: LayerTensor, shape: tuple[int, int]) -> str:
    """What a code waits for, in words."""
    if needed.earlier:
        return "nothing: amax of earlier steps"
    place = stored_tile(tensor, needed.rows, needed.columns)
    return f"{place}: {count(needed.numbers(shape), 'number')}"


def _readers(one: Passes) -> str:
    return " and ".join(matmul.title for matmul, _ in one.copy.readers)


def _verdict(reads: int, needed: Reach) -> str:
    if needed.earlier:
        return "one read:\namax is known"
    return "one read" if reads == 1 else "two reads:\namax, then codes"


def table(recipe: Recipe, layer: LayerShape) -> list[tuple[str, ...]]:
    """A line for each copy of each tensor, and for all copies of a tensor where there are several."""
    lines = []
    for tensor in OPERANDS:
        copies, shape = copies_of(recipe, tensor), layer.of(tensor)
        for one in copies:
            tile = stored_tile(tensor, *one.copy.tile)
            lines.append((f"{tensor.value} for {_readers(one)}", tile, *_line(one.reach, tensor, shape)))
        if len(copies) > 1:
            lines.append((f"{tensor.value}, both copies", "both", *_line(together(copies), tensor, shape)))
    return lines


def _line(needed: Reach, tensor: LayerTensor, shape: tuple[int, int]) -> tuple[str, ...]:
    passes = _PASSES[needed.reads(shape, HELD)]
    return (waits(needed, tensor, shape), passes, *(one.verdict(needed) for one in PRODUCERS))


def byte_bars(recipe: Recipe, layer: LayerShape, rates: PeakRates, ink: Ink) -> Filled:
    """A bar for each strategy: the bytes that quantizing x, w and dy moves, and the time memory needs."""
    ways = []
    for strategy in Strategy:
        moved = layer_traffic(recipe, layer, strategy)
        sizes = zip(PIECES, (moved.amax, moved.cast, moved.codes, moved.scales), strict=True)
        ways.append(
            Moved(
                name=strategy.value,
                pieces={piece: size / _MIB for piece, size in sizes},
                size=bytes_text(moved.total),
                time=f"{short(least_us(moved.total, rates), 3)} µs",
            )
        )
    return traffic_chart(ways, int((1 - _PANELS) * room()), ink)


def notice(recipe: Recipe, layer: LayerShape, rates: PeakRates) -> str:
    """The time that quantizing needs with several reads and with one, beside that of the matmuls."""
    apart, once = (
        least_us(layer_traffic(recipe, layer, one).total, rates)
        for one in (Strategy.APART, Strategy.TOGETHER)
    )
    if not apart:
        return f"{recipe.title} quantizes nothing."
    return (
        f"Memory needs {short(apart, 3)} µs to quantize in passes apart, and **{short(once, 3)} µs** in the "
        f"fewest reads. The three matmuls need {short(matmuls_us(layer, rates), 3)} µs."
    )


@lru_cache(maxsize=_LAYERS_KEPT)
def table_of_recipes(layer: LayerShape) -> list[tuple[str, ...]]:
    """A line for each published recipe. Reads are those that make all copies of a tensor in one launch."""
    return [_recipe_line(recipe, layer) for recipe in RECIPES.values()]


def _recipe_line(recipe: Recipe, layer: LayerShape) -> tuple[str, ...]:
    copies = [one for tensor in OPERANDS for one in copies_of(recipe, tensor)]
    homes = dict.fromkeys(one.reach.home.value for one in copies)
    of_x = copies_of(recipe, LayerTensor.X)
    verdicts = [step.verdict(together(of_x)) if of_x else _NONE for step in (BY_ROWS, BY_BLOCKS)]
    reads = " / ".join(_reads(recipe, tensor, layer) for tensor in OPERANDS)
    return recipe.title, ", ".join(homes) or _NONE, reads, *verdicts


def _reads(recipe: Recipe, tensor: LayerTensor, layer: LayerShape) -> str:
    copies = copies_of(recipe, tensor)
    return str(together(copies).reads(layer.of(tensor), HELD)) if copies else _NONE
