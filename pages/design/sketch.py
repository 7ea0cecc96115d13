"""The sketch of the six operands, and beside it the recipe at a glance."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fp8core.experiments.designs import CELLS, result_errors
from fp8core.linear import MATMULS
from fp8core.recipes import Recipe
from fp8core.recipes.plain import ALL, SCALES, Plain
from fp8core.tiles import WHOLE, Extent
from pages.design.charts.cells import CHOOSE, STRIP, Cell, cells_chart, number_of, tile_of
from pages.design.derived import Answer, Facts, Verdict, facts
from pages.design.draft import CELL, CELL_KEYS, INPUT, Draft, cell_key, draft_of
from pages.design.recipe import put
from pages.kit.chart_slider import Hand
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled
from pages.kit.charts.words import bytes_text, short
from pages.kit.charts.words import tile as tile_words
from pages.kit.computing.compute import Call, computed
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.look.presenter import projected
from pages.kit.shared_controls import SEED
from pages.kit.tables import grid
from pages.kit.view import Clicks, draw_chart, draw_notice, here, page_ink
from pages.kit.widgets import Place


def draw_cells(controls: Controls, draft: Draft, place: Place) -> None:
    key = controls.value(CELL)
    matmul, side = CELL_KEYS[key]

    def change(value: Any, *path: str) -> None:
        put(controls, draft.with_value((matmul, side.value.lower(), *path), value))

    def pull(number: float) -> None:
        tile = {
            name: ALL if extent is WHOLE else extent
            for name, extent in zip(("mn", "k"), tile_of(number), strict=True)
        }
        change(tile, "tile")

    def click(mark: Mapping[str, Any]) -> None:
        if mark["cell"] in SCALES:
            change(mark["cell"], "scale", "format")
        else:
            controls.preset(**{CELL.key: mark["cell"]})

    own = next(cell for cell in cells(draft, key) if cell.is_chosen)
    sketch = place.container(key="slid_design_cells", gap=None)
    draw_chart(
        picture(draft, key, page_ink(), is_flat=projected()),
        place=sketch,
        key="design_cells",
        clicks=Clicks(CHOOSE, click),
        alt="Six operands: "
        + "; ".join(f"{cell.title}: {', '.join(cell.words)}" for cell in cells(draft))
        + ". A click on one chooses it.",
    )
    with sketch:
        at = None if own.tile is None else number_of(own.tile)
        Hand(label="Tile of the chosen operand", way="both").mount("hand_design_cells", at=at, on_change=pull)
        Hand(label="Format of its scale", rail=STRIP).mount(
            "hand_design_scale",
            at=None if own.scale is None else [*SCALES].index(own.scale),
            on_change=lambda number: change([*SCALES][int(number)], "scale", "format"),
        )


def picture(draft: Draft, key: str, ink: Ink, *, is_flat: bool = False) -> Filled:
    rules = [] if draft.recipe is None else [one.verdict for one in facts(draft.line).matmuls.values()]
    verdicts = [(one.holds, verdict_words(one), one.short) for one in rules]
    return cells_chart(cells(draft, key), verdicts, ink, is_flat=is_flat)


def cells(draft: Draft, key: str = "") -> list[Cell]:
    return [
        Cell(
            key=cell_key(name, side),
            matmul=MATMULS[name],
            side=side,
            words=words(operand),
            tile=None if operand is None else tuple(map(_extent, operand["tile"].values())),
            scale=None if operand is None else operand["scale"]["format"],
            is_chosen=cell_key(name, side) == key,
            has_outer=operand is not None and operand["scale"]["outer"] is not None,
        )
        for name, side in CELLS
        for operand in [draft.operand(name, side)]
    ]


def words(operand: Plain | None) -> tuple[str, str, str]:
    """The format and the tile; the scale; all else that is unusual."""
    if operand is None:
        return "bf16", "no scale", ""
    scale, (mn, k) = operand["scale"], (_extent(extent) for extent in operand["tile"].values())
    tile = "one tile" if mn is WHOLE and k is WHOLE else tile_words(mn, k, ("all", "K"))
    unusual = {
        "stochastic": operand["rounding"] == "stochastic",
        "rotated": operand["rotation"],
        "search": len(scale["search"]) > 1,
        "of a copy": operand["saved_as"],
    }
    fit = f"{scale['format']} {scale['fit'].replace('_', ' ')}"
    return f"{operand['format']} {tile}", fit, ", ".join(word for word, is_so in unusual.items() if is_so)


def _extent(plain: int | str) -> Extent:
    return WHOLE if plain == ALL else int(plain)


def verdict_words(verdict: Verdict) -> str:
    if verdict.short == "no":
        return "a scale cannot leave the sum"
    if verdict.short.startswith("yes, "):
        return f"scales leave {verdict.short.removeprefix('yes, ')}"
    return f"scales applied {verdict.short}" if " the " in f" {verdict.short}" else verdict.short


YOURS = "Yours"
Errors = dict[str, float]  # the relative error of each result by its symbol: y, dx, dw


@dataclass(frozen=True)
class LineErrors:
    """The errors of lines by name; of an older input where not `is_current`."""

    errors: Mapping[str, Errors]
    kind: str
    seed: int
    is_current: bool


def line_errors(controls: Controls, lines: Mapping[str, str]) -> LineErrors | None:
    """The errors of these lines from the pool; until then the last ones."""
    kind, seed = controls.value(INPUT), controls.value(SEED)
    calls = [Call(result_errors, (line, kind, seed)) for line in lines.values()]
    now = tuple(lines.items()), kind, seed
    answer = computed("design", now, calls, label="Quantizing")
    if answer is None:
        return None
    pairs, kind, seed = answer.arguments
    errors = {
        name: {matmul.d.value: part[key] for key, matmul in MATMULS.items()}
        for (name, _), part in zip(pairs, answer.parts, strict=True)
    }
    return LineErrors(errors, kind, seed, answer.arguments == now)


def draw_summary(controls: Controls, draft: Draft, base: Recipe, place: Place, reasons: Place) -> None:
    if draft.recipe is None:
        draw_notice("These choices **exclude each other**. The reason is below the fields.")
        return
    lines = {YOURS: draft.line, base.title: draft_of("", base.name).line}
    with place:
        latest = line_errors(controls, lines)
    # The error of an older choice would stand beside the cost of this one.
    errors = latest.errors if latest is not None and latest.is_current else {}
    columns = [column(facts(line), errors.get(name)) for name, line in lines.items()]
    rows = [(name, *(of[name] for of in columns)) for name in columns[0]]
    place.html(grid(("", *lines), rows, page_ink()))
    draw_notice(notice(lines, base.title, errors))
    own = facts(draft.line)
    breaks = not all(one.verdict.holds for one in own.matmuls.values())
    words = "**Does the scale leave the sum?**\n\n" + "\n".join(verdicts(own))
    (reasons if breaks else here().know).markdown(words)


def notice(lines: Mapping[str, str], base: str, errors: Mapping[str, Errors]) -> str:
    own, bits = facts(lines[YOURS]), short(facts(lines[base]).bits, 4)
    if lines[YOURS] == lines[base]:
        return f"This is {base} as published: **{bits} bits** per element. Change a field, and see."
    words = f"Yours takes **{short(own.bits, 4)} bits** per element, {base} {bits}."
    if errors:
        mine, theirs = errors[YOURS], errors[base]
        most = max(mine, key=lambda one: abs(mine[one] - theirs[one]))
        if f"{mine[most]:.2%}" != f"{theirs[most]:.2%}":
            words = (
                f"{most}'s error is **{mine[most]:.2%}** instead of {theirs[most]:.2%}, for "
                f"{short(own.bits, 4)} bits per element instead of {bits}."
            )
    failures = [MATMULS[name].title for name, one in own.matmuls.items() if one.verdict.short == "no"]
    if failures:
        return f"{words} But in {' and '.join(failures)} a scale cannot leave the sum."
    unfit = [MATMULS[name].title for name, one in own.matmuls.items() if not one.verdict.holds]
    return f"{words} But no unit multiplies {' and '.join(unfit)} so." if unfit else words


def column(of: Facts, errors: Errors | None) -> dict[str, str]:
    """The figures of one recipe, by name; an ellipsis for an error to come."""
    return {
        "bits per element": short(of.bits, 4),
        "copies": str(len(of.copies)),
        "their bytes": bytes_text(of.bytes),
        **{
            f"error of {matmul.d.value}": "…" if errors is None else f"{errors[matmul.d.value]:.2%}"
            for matmul in MATMULS.values()
        },
        **{f"kernels for {device}": _matmuls(every) for device, every in of.able.items()},
    }


def _matmuls(every: Mapping[str, Answer]) -> str:
    if all(one.can and not one.otherwise for one in every.values()):
        return "all three"
    able = [f"{MATMULS[name].title} {one.otherwise}".rstrip() for name, one in every.items() if one.can]
    return ", ".join(able) or "none"


def verdicts(of: Facts) -> list[str]:
    """Markdown items: the verdict on each matmul, equal ones once."""
    titles: dict[object, list[str]] = {}
    for name, one in of.matmuls.items():
        titles.setdefault(one.verdict, []).append(MATMULS[name].title)
    return [
        f"- {':material/check:' if one.holds else ':material/block:'} {', '.join(names)}: **{one.short}**. "
        f"{plain(one.reason)}"
        for one, names in titles.items()
    ]
