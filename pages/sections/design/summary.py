"""The recipe at a glance, beside the one it began as: cost, error, and who can run it."""

from collections.abc import Mapping

import streamlit as st

from fp8core.linear import MATMULS, OPERANDS
from fp8core.recipes import RECIPES
from kernels.device import BLACKWELL, HOPPER
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import bytes_text, short
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.kit.tables.html_table import grid
from pages.sections.design.controls import INPUT
from pages.sections.design.derived import Facts, facts
from pages.sections.design.draft import Draft, draft_of
from pages.sections.design.measured import YOURS, Errors, Measured

HEAD = (
    "recipe",
    f"copies {'/'.join(tensor.value for tensor in OPERANDS)}",
    "bytes",
    "bits an element",
    f"rescales {'/'.join(matmul.title for matmul in MATMULS.values())}",
    *(f"error of {matmul.d.value}" for matmul in MATMULS.values()),
    HOPPER.name,
    BLACKWELL.name,
)


def wanted(draft: Draft, begin: str) -> dict[str, str]:
    """The lines whose errors the summary shows: yours, and that of the recipe it began as."""
    return {YOURS: draft.line, RECIPES[begin].title: draft_of("", begin).line}


def draw_summary(controls: Controls, lines: Mapping[str, str], found: Measured | None) -> None:
    """A row for yours and one for the recipe it began as; then the rule's verdicts."""
    current = controls.value(INPUT), controls.value(SEED)
    # The error of an older choice would stand beside the cost of this one.
    known = found.errors if found is not None and (found.kind, found.seed) == current else {}
    rows = [row(name, facts(line), known.get(line)) for name, line in lines.items()]
    st.html(grid(HEAD, rows, INKS[theme()], marked=(0,)))
    st.markdown("**Does the scale leave the sum?**\n\n" + "\n".join(verdicts(facts(lines[YOURS]))))


def row(name: str, found: Facts, errors: Errors | None) -> tuple[str, ...]:
    """The cells of one recipe; an error that is not there yet is an ellipsis."""
    return (
        name,
        " / ".join(str(found.copies_of(tensor)) for tensor in OPERANDS),
        bytes_text(found.bytes),
        short(found.bits, 4),
        " / ".join(f"{one.rescales:,}" for one in found.matmuls.values()),
        *("…" if errors is None else f"{errors[matmul.d.value]:.2%}" for matmul in MATMULS.values()),
        *map(_able, found.able.values()),
    )


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
