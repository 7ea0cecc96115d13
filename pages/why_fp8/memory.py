"""Section "Memory": FP8 training holds several copies, so that it is not always smaller."""

from collections.abc import Mapping

from pages.kit.chart import draw_chart, room
from pages.kit.charts.bars import Bar, bars
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.charts.words import bytes_text, count
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.sourced import draw_sources, links, sourced
from pages.kit.tables import grid
from pages.kit.terms.explain import draw_text
from pages.kit.view import here
from pages.kit.widgets import Value
from pages.why_fp8.controls import MOMENT, TOKENS, WEIGHTS, draw_shape, layer_of, values
from pages.why_fp8.footprint import (
    BACKWARD,
    FORWARD,
    INFERENCE,
    SHORT,
    footprint,
    shown,
    total,
)
from pages.why_fp8.table_of_checks import HEAD, checks

IDEA = (
    "Half the bits should be half the memory. **Training is different.** The optimizer changes a weight of "
    "many bits, so that one stays. Beside it lie the quantized copies: one tiled for Fprop, one for the "
    "backward pass. The output y is bf16 as before. Only x, which waits for Wgrad, is smaller."
)
BF16 = "bf16"
_COUNTED = {
    FORWARD: "After the forward pass, with w, its copy, x and y",
    BACKWARD: "In the backward pass, with w, dy, their copies and x",
    INFERENCE: "In inference, with w and y",
}
_MIB = 1 << 20


def totals(settings: Mapping[str, Value]) -> dict[str, int]:
    """All bytes of the layer: in bf16 first, then by the title of each recipe."""
    layer, moment, weights = layer_of(settings), settings[MOMENT.key], settings[WEIGHTS.key]
    named = [(BF16, None), *((recipe.title, recipe) for recipe in shown())]
    return {name: total(recipe, layer, moment, weights) for name, recipe in named}


def ratios(settings: Mapping[str, Value]) -> dict[str, float]:
    """Bytes over those of bf16, by the title of each recipe."""
    found = totals(settings)
    return {name: size / found[BF16] for name, size in found.items() if name != BF16}


def picture(settings: Mapping[str, Value], theme: str, room: int) -> Filled:
    """A bar for bf16 and each recipe, with its pieces."""
    layer, moment, weights = layer_of(settings), settings[MOMENT.key], settings[WEIGHTS.key]
    compared = ratios(settings)
    lines = []
    for name, recipe in [(BF16, None), *((recipe.title, recipe) for recipe in shown())]:
        found = footprint(recipe, layer, moment, weights)
        size = bytes_text(sum(found.values()))
        lines.append(
            Bar(
                name=name,
                pieces={piece: held / _MIB for piece, held in found.items()},
                label=size if recipe is None else f"{size}, {compared[name]:.2f}×",
            )
        )
    return bars(lines, SHORT, "MiB of one linear layer", room, INKS[theme])


def notice(settings: Mapping[str, Value]) -> str:
    """The tensors that count, and the recipe that takes the least."""
    found, moment = ratios(settings), settings[MOMENT.key]
    least = min(found, key=found.__getitem__)
    return (
        f"{_COUNTED[moment]} all counted, the smallest recipe, {least}, takes "
        f"**{found[least]:.2f} times the memory of bf16.**"
    )


def show(controls: Controls) -> None:
    """Draw the layer's bytes in bf16 and in one recipe of each family, and the check."""
    know = here().know
    moment = controls.draw(MOMENT, here().control)
    controls.draw(TOKENS)
    if moment != INFERENCE:
        controls.draw(WEIGHTS)
    draw_shape(controls)
    settings = values(controls)
    draw_notice(notice(settings))
    draw_chart(
        picture(settings, theme(), room()),
        key="why_memory",
        is_rigid=True,
        alt="Memory of one linear layer: "
        + "; ".join(f"{name} {bytes_text(size)}" for name, size in totals(settings).items()),
    )
    draw_text(IDEA, know)
    layer = layer_of(settings)
    know.markdown(
        f"{count(layer.tokens, 'token')}, a weight of {layer.out:,} × {layer.in_:,}. With more tokens x "
        "and y weigh more, and the copies of w less. Copies and layouts follow from each recipe, as the page "
        "Tile layouts counts them. Hopper needs every operand contiguous along K. The backward pass keeps "
        "all copies of w and dy at once. The optimizer's own state, two moments and often an fp32 weight, is "
        "as large as in bf16, and left out."
    )
    know.markdown("**Does this sum agree with a measurement?**")
    know.html(grid(HEAD, checks(), INKS[theme()]))
    draw_sources(links(sourced().measured), know)
