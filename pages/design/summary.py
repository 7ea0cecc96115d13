"""The recipe at a glance, beside the one it began as: cost, error, and who can run it."""

from collections.abc import Mapping

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES, Recipe
from pages.design.controls import INPUT
from pages.design.derived import Facts, facts
from pages.design.draft import Draft, draft_of
from pages.design.measured import YOURS, Errors, measured
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import bytes_text, short
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.kit.tables import grid
from pages.kit.view import know
from pages.kit.widgets import Place


def wanted(draft: Draft, begin: str) -> dict[str, str]:
    """The lines whose errors the summary shows: yours, and that of the recipe it began as."""
    return {YOURS: draft.line, RECIPES[begin].title: draft_of("", begin).line}


def draw_summary(controls: Controls, draft: Draft, begun: Recipe, place: Place, reasons: Place) -> None:
    """A column for yours and one for the recipe it began as; then the rule's verdicts."""
    if draft.recipe is None:
        draw_notice("These choices **exclude each other**. The reason is below the fields.")
        return
    lines = wanted(draft, begun.name)
    with place:
        found = measured(controls, lines)
    current = controls.value(INPUT), controls.value(SEED)
    # The error of an older choice would stand beside the cost of this one.
    known = found.errors if found is not None and (found.kind, found.seed) == current else {}
    columns = [column(facts(line), known.get(line)) for line in lines.values()]
    names = columns[0]
    rows = [(name, *(of[name] for of in columns)) for name in names]
    place.html(grid(("", *lines), rows, INKS[theme()]))
    own = facts(draft.line)
    draw_notice(notice(lines, begun.title, known))
    told = "**Does the scale leave the sum?**\n\n" + "\n".join(verdicts(own))
    (know() if all(one.verdict.holds for one in own.matmuls.values()) else reasons).markdown(told)


def notice(lines: Mapping[str, str], begun: str, errors: Mapping[str, Errors]) -> str:
    """The error that yours changes most, at which bits, and the matmuls that it breaks."""
    line, other = lines[YOURS], lines[begun]
    own, bits = facts(line), f"{short(facts(other).bits, 4)}"
    if line == other:
        return f"This is {begun} as published: **{bits} bits** per element. Change a field, and see."
    told = f"Yours takes **{short(own.bits, 4)} bits** per element, {begun} {bits}."
    if line in errors and other in errors:
        mine, theirs = errors[line], errors[other]
        most = max(mine, key=lambda one: abs(mine[one] - theirs[one]))
        if f"{mine[most]:.2%}" != f"{theirs[most]:.2%}":
            told = (
                f"{most}'s error is **{mine[most]:.2%}** instead of {theirs[most]:.2%}, for "
                f"{short(own.bits, 4)} bits per element instead of {bits}."
            )
    broken = [MATMULS[name].title for name, one in own.matmuls.items() if one.verdict.short == "no"]
    if broken:
        return f"{told} But in {' and '.join(broken)} a scale cannot leave the sum."
    unfit = [MATMULS[name].title for name, one in own.matmuls.items() if not one.verdict.holds]
    return f"{told} But no unit multiplies {' and '.join(unfit)} so." if unfit else told


def column(found: Facts, errors: Errors | None) -> dict[str, str]:
    """What follows from one recipe, by name; an error that is not there yet is an ellipsis."""
    return {
        "bits per element": short(found.bits, 4),
        "copies": str(len(found.copies)),
        "their bytes": bytes_text(found.bytes),
        **{
            f"error of {matmul.d.value}": "…" if errors is None else f"{errors[matmul.d.value]:.2%}"
            for matmul in MATMULS.values()
        },
        **{f"{name} can run": _able(names) for name, names in found.able.items()},
    }


def _able(names: tuple[str, ...]) -> str:
    """The matmuls that can be run, in words."""
    return "all three" if len(names) == len(MATMULS) else ", ".join(map(str.capitalize, names)) or "none"


def verdicts(found: Facts) -> list[str]:
    """Items of a list in Markdown: the verdict on each matmul, equal ones once."""
    told: dict[object, list[str]] = {}
    for name, one in found.matmuls.items():
        told.setdefault(one.verdict, []).append(MATMULS[name].title)
    return [
        f"- {':material/check:' if one.holds else ':material/block:'} {', '.join(titles)}: **{one.short}**. "
        f"{plain(one.reason)}"
        for one, titles in told.items()
    ]
