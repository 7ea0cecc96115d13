"""Each choice of a recipe turned back alone, as the recipe has it that it began as."""

from functools import lru_cache

from fp8core.experiments.designs import CELLS, Knob, knobs
from fp8core.linear import MATMULS
from pages.design.draft import draft_of
from pages.design.measured import YOURS, Errors
from pages.kit.charts.words import count


@lru_cache(maxsize=256)
def differing(line: str, begin: str) -> tuple[Knob, ...]:
    """The choices in which the recipe of a line differs from a published one."""
    return knobs(draft_of(line, begin).data, draft_of("", begin).data)


def turned(line: str, begin: str) -> dict[str, str]:
    """The lines with one choice turned back, by the name of the choice; without those that cannot."""
    return {label(knob): knob.line for knob in differing(line, begin) if knob.line is not None}


def strongest(errors: dict[str, Errors], names: list[str]) -> list[str]:
    """The choices in the order of what they change in the largest error, the most first."""
    worst = {name: max(of.values()) for name, of in errors.items()}
    return sorted(names, key=lambda name: -abs(worst[name] - worst[YOURS]))


def label(knob: Knob) -> str:
    """A knob as the chart names it."""
    if len(knob.cells) == len(CELLS):
        return f"{knob.name} back"
    if len(knob.cells) == 1:
        ((name, side),) = knob.cells
        return f"{knob.name} back, {MATMULS[name].title} {MATMULS[name].operand(side).value}"
    return f"{knob.name} back, {count(len(knob.cells), 'operand')}"
