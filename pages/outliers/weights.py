"""Questions on weights: two readers of one weight, and a checkpoint under new scales."""

import streamlit as st

from fp8core.experiments.rounded_checkpoint import CHECKPOINT, CheckpointError, Reading, stored_as
from fp8core.experiments.two_readers import Disagreement, copies, weight_readers
from fp8core.recipes.keys import recipe_of_key
from pages.kit.charts.bars import Bar, Part, bars, grouped
from pages.kit.charts.ink import Ink
from pages.kit.charts.words import bits_words, short
from pages.kit.computing.compute import Call, computed
from pages.kit.controls import Controls
from pages.kit.tables import markdown_table
from pages.kit.view import draw_chart, draw_notice, here, notices_wait, page_ink, room
from pages.outliers.controls import READERS_FORMAT, READERS_SCALE, READING
from pages.outliers.data import BARE_TILES, THIRD, bare_operands, bare_readers, checkpoint, recipe_readers
from pages.outliers.subject import percent, recipes, weights

_ZERO, _DIFFER = "zero for one reader only", "differ"


def show_readers(controls: Controls) -> None:
    keys, source = recipes(controls), weights(controls)
    bare_tiles = controls.draw(READERS_FORMAT), controls.draw(READERS_SCALE)
    request = (keys, source, *bare_tiles)
    calls = [Call(recipe_readers, (key, source)) for key in keys]
    calls.append(Call(bare_readers, (*bare_tiles, source)))
    answer = computed("outliers_readers", request, calls, label="Reading the weight twice")
    if answer is None:
        return
    (keys, source, format_name, scale_name), (*parts, bare) = answer.arguments, answer.parts
    tiles = [f"{format_name}, {tile.mn}×{tile.k}" for tile in BARE_TILES]
    names = [*(recipe_of_key(key).title for key in keys), *tiles]
    by_name = dict(zip(names, [*parts, *bare], strict=True))
    pairs = [*(weight_readers(recipe_of_key(key)) for key in keys), *bare_operands(format_name, scale_name)]
    draw_notice(readers_notice(dict(zip(tiles, bare, strict=True)), format_name))
    ink, lines = page_ink(), [_differing(name, part) for name, part in by_name.items()]
    colors = ink.lost, ink.mid
    draw_chart(
        bars(lines, {_ZERO: "", _DIFFER: ""}, "% of the weight's elements", room(), ink, colors),
        key="outliers_readers",
        alt="; ".join(
            f"{name}: {percent(part.differ / part.elements)} differ" for name, part in by_name.items()
        ),
    )
    rows = [
        (
            name,
            f"{part.differ:,}",
            f"{part.zero_in_one:,}",
            percent(part.rel_err),
            " + ".join(bits_words(operand, source.shape) for operand in copies(pair)),
        )
        for (name, part), pair in zip(by_name.items(), pairs, strict=True)
    ]
    apart = "‖w of Dgrad − w of Fprop‖ / ‖w‖"
    heads = ("", "elements that differ", "zero for one only", apart, "bits per element")
    st.markdown(markdown_table(heads, rows))
    tall, wide = source.shape
    here().know.caption(
        f"A weight of {tall:,} out × {wide:,} in. Fprop sums over in, Dgrad over out. A tile of 1 × k "
        "turns with K, so the weight is quantized twice, and the gradient is that of another weight than the "
        "one that made the loss. A square tile lies alike for both. Below the recipes: bare tiles of one "
        "format."
    )


def _differing(name: str, part: Disagreement) -> Bar:
    zero, differ = 100 * part.zero_in_one / part.elements, 100 * part.differ / part.elements
    return Bar(name=name, pieces={_ZERO: zero, _DIFFER: differ - zero}, label=percent(differ / 100))


def readers_notice(tiles: dict[str, Disagreement], format_name: str) -> str:
    long = {name: part for (name, part), tile in zip(tiles.items(), BARE_TILES, strict=True) if tile.mn == 1}
    worst, part = max(long.items(), key=lambda one: one[1].differ)
    if not part.differ:
        return f"In {format_name}, **0 elements** differ between Dgrad and Fprop, whatever the tile."
    square = sum(part.differ for name, part in tiles.items() if name not in long)
    return (
        f"In {worst} tiles **{percent(part.differ / part.elements)} of a weight's elements** differ between "
        f"Fprop and Dgrad. In square tiles, {f'{square:,}' if square else 'none'} do."
    )


STORY = (
    "**What happened.** In March 2026 a model of 35 billion parameters moved to a newer GPU. On GSM8K, a "
    "test of school mathematics, about twelve fewer of a hundred answers were right. Its checkpoint had "
    "e4m3 codes with one **fp32** scale for each square block. The newer GPU's matmul takes **powers of "
    "two** only. So the weights were read back, and quantized once more, with scales rounded up. The "
    "activations' scales were rounded up, too. Nothing failed, and nothing was logged. Here only the "
    "weights' scales change."
)
SOURCE = (
    "Source: vLLM pull request 38083 (issue 37804), requant_weight_ue8m0_inplace. Codes "
    "kept: transformers issue 47030."
)
SERIES = {"weight": "the weight", "checkpoint": "from the checkpoint", "result": "y = x · wᵀ"}


def show_story(controls: Controls) -> None:
    reading = Reading[controls.draw(READING, here().control.container(width=270)).upper()]
    source = weights(controls)
    answer = computed("outliers_story", source, [Call(checkpoint, (source,))], label="Reading the checkpoint")
    if answer is None:
        return
    errors = {error.reading: error for error in answer.parts[0]}
    before, after = errors[Reading.AS_MADE], errors[reading]
    rows, columns = answer.arguments.shape
    draw_notice(story_notice(before, after))
    ink = page_ink()
    draw_chart(
        grouped(_switch(before, after, ink), "error, ‖read − true‖ / ‖true‖", room(), ink),
        key="outliers_story",
        alt=f"Error of the weight: {percent(before.weight)} as made, {percent(after.weight)} with "
        f"{reading.value}; of y: {percent(before.result)} and {percent(after.result)}.",
    )
    if not notices_wait():
        lines = [
            (
                one.value,
                *(percent(getattr(error, name)) for name in SERIES),
                percent(error.changed),
                short(error.block_growth, 4),
                bits_words(stored_as(one), answer.arguments.shape),
            )
            for one, error in errors.items()
        ]
        heads = ("read with", *SERIES.values(), "elements changed", "growth of a block", "bits per element")
        st.markdown(markdown_table(heads, lines))
    here().know.markdown(STORY)
    here().know.caption(
        f"A weight of {rows:,} out × {columns:,} in, {THIRD:,} Gaussian tokens, blocks of "
        f"{CHECKPOINT.tile.mn} × {CHECKPOINT.tile.k}. A block's growth is ⟨read, checkpoint⟩ / ⟨checkpoint, "
        "checkpoint⟩, its mean over the blocks. " + SOURCE
    )


def _switch(before: CheckpointError, after: CheckpointError, ink: Ink) -> list[Part]:
    readings = {"as made": (before, ink.mid)}
    if after.reading is not before.reading:
        readings["now"] = (after, ink.text)
    return [
        Part(group=title, series=reading, share=share, color=color, words=f"{percent(share)} {reading}")
        for name, title in SERIES.items()
        for reading, (error, color) in readings.items()
        for share in [getattr(error, name)]
    ]


WHY = {
    Reading.MADE_ANEW: "Two roundings of one size add up as √2.",
    Reading.CODES_KEPT: "The scales went up and the codes stayed: every block grows.",
    Reading.FROM_START: "It was quantized once, with powers of two.",
}


def story_notice(before: CheckpointError, after: CheckpointError) -> str:
    if after.reading is Reading.AS_MADE:
        return (
            f"Read as it was made, the weight is **off by {percent(before.weight)}.** Choose another reading."
        )
    change = f"The weight is **off by {percent(after.weight)}**, not by {percent(before.weight)}."
    return f"{change} {WHY[after.reading]}"
