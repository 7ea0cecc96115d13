"""Section "Error": the recipe beside published ones, and with one choice at a time turned back."""

from functools import lru_cache

from fp8core.errors import sqnr_db
from fp8core.experiments.designs import CELLS, Knob, knobs, nearest_published
from fp8core.experiments.designs import LAYER as SMALL
from fp8core.inputs import INPUT_NOTES, InputKind
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES, Recipe
from kernels.measure.jobs import LAYER
from pages.design.draft import INPUT, Draft, draft_of, in_words
from pages.design.sketch import YOURS, Errors, line_errors
from pages.kit.charts.bars import Part, grouped
from pages.kit.charts.ink import Ink
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Filled
from pages.kit.charts.words import count, percent_text, short
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.look.presenter import projected
from pages.kit.shared_controls import SEED
from pages.kit.view import draw_chart, draw_notice, here, page_ink

RESULTS = tuple(matmul.d.value for matmul in MATMULS.values())
_GROUPS, _PROJECTED_GROUPS = 9, 6
# Pixels of a bar at most, and of all bars on a laptop and before a projector.
_MOST, _ROOM, _FLAT_ROOM = 42, 510, 310


def show(controls: Controls, draft: Draft, base: Recipe) -> None:
    controls.draw(INPUT)
    controls.draw(SEED)
    back = {label(knob): knob.line for knob in differing(draft.line, base.name) if knob.line is not None}
    published = (base, *nearest_published(draft.recipe, LAYER))
    others = {recipe.title: draft_of("", recipe.name).line for recipe in published}
    latest = line_errors(controls, {YOURS: draft.line, **back, **others})
    if latest is None:
        return
    errors = latest.errors
    worst = {name: max(of.values()) for name, of in errors.items()}
    changes = sorted(
        (name for name in back if name in errors), key=lambda name: -abs(worst[name] - worst[YOURS])
    )
    draw_notice(notice(errors, changes))
    rest = [name for name in errors if name not in back]
    room = (_PROJECTED_GROUPS if projected() else _GROUPS) - len(rest)
    groups = {name: errors[name] for name in (YOURS, *changes[:room], *rest[1:])}
    draw_chart(
        picture(groups, page_ink(), is_flat=projected()),
        key="design_errors",
        alt="Relative errors of y, dx and dw: "
        + "; ".join(f"{name}: " + ", ".join(f"{e:.2%}" for e in of.values()) for name, of in groups.items()),
    )
    here().know.markdown(
        f"numpy reference. Input: {INPUT_NOTES[InputKind(latest.kind)].title}, seed {latest.seed}, "
        f"{SMALL.tokens} tokens, {SMALL.in_:,} → {SMALL.out}. An error is ‖result − truth‖ / ‖truth‖ of the "
        "quantized operands, summed in float64: what the tensor core loses when it adds, and D's own "
        "rounding, come on top. A delayed scale is that of a first step."
    )
    _explain_back(draft, base, len(changes[room:]))


def _explain_back(draft: Draft, base: Recipe, further: int) -> None:
    knobs = differing(draft.line, base.name)
    if not knobs:
        here().know.markdown(
            f"No operand differs from {base.title}. Change a field: its bars come here then."
        )
        return
    words = (
        f"“Back” means that one choice alone goes back to what {base.title} has, in all operands where it "
        "differs. Accumulation and D's format change nothing here."
    )
    stuck = [
        f"- {knob.name.capitalize()} cannot go back alone: {plain(in_words(knob.reason))}."
        for knob in knobs
        if knob.line is None
    ]
    more = f" {further} further choices change less." if further > 0 else ""
    here().know.markdown("\n".join([words + more, "", *stuck]))


def picture(errors: dict[str, Errors], ink: Ink, *, is_flat: bool = False) -> Filled:
    colors = {recipe.title: mark_of(name).color for name, recipe in RECIPES.items()} | {YOURS: ink.dot}
    parts = [
        Part(
            group=name,
            series=result,
            share=of[result],
            color=colors.get(name, ink.line),
            words=f"{result} {percent_text(of[result]) if of[result] else '0'}",
        )
        for name, of in errors.items()
        for result in RESULTS
    ]
    room = min(_FLAT_ROOM if is_flat else _ROOM, _MOST * len(parts))
    return grouped(parts, "relative error of the result", room, ink)


def notice(errors: dict[str, Errors], changes: list[str]) -> str:
    """The choice that changes the largest error most; else the best published recipe here."""
    worst = {name: max(of.values()) for name, of in errors.items()}
    own, result = worst[YOURS], max(errors[YOURS], key=lambda one: errors[YOURS][one])
    if not own:
        return "Nothing of yours is quantized, so **nothing is lost**."
    if changes and worst[changes[0]] != own:
        return (
            f"“{changes[0]}” changes your largest error most: from {own:.2%} to **{worst[changes[0]]:.2%}**."
        )
    others = {name: error for name, error in worst.items() if name != YOURS and name not in changes}
    best = min(others, key=others.get)
    sqnr = f"{short(sqnr_db(own), 3)} dB"
    return (
        f"Your largest error is that of {result}, **{own:.2%}** or {sqnr}. The best recipe here, {best}, "
        f"has {others[best]:.2%}."
    )


@lru_cache(maxsize=256)
def differing(line: str, begin: str) -> tuple[Knob, ...]:
    return knobs(draft_of(line, begin).data, draft_of("", begin).data)


def label(knob: Knob) -> str:
    where = f", {count(len(knob.cells), 'operand')}"
    if len(knob.cells) == 1:
        ((name, side),) = knob.cells
        where = f", {MATMULS[name].title} {MATMULS[name].operand(side).value}"
    return f"{knob.name} back{'' if len(knob.cells) == len(CELLS) else where}"
