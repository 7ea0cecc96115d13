"""The tooltip on the measurement behind a mark, in every chart of benchmarks."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

_TITLES = {
    "gemm": "GEMM",
    "shape": "M × N × K",
    "time": "median (20th to 80th percentile)",
    "speed": "speed",
    "against": "times as fast as",
    "kernel": "kernel",
    "state": "measured with",
    "where": "from",
}


@dataclass(frozen=True, kw_only=True)
class TimedGemm:
    """One timed GEMM in words."""

    gemm: str
    shape: str
    time: str
    speed: str
    against: str
    kernel: str
    state: str
    where: str


def fact_columns(facts: Sequence[TimedGemm | None]) -> dict[str, list[str | None]]:
    """The columns that the tooltip reads, under names that no chart has for its own; empty for None."""
    return {_field(name): [one and getattr(one, name) for one in facts] for name in _TITLES}


def tooltip(*first: alt.Tooltip) -> list[alt.Tooltip]:
    """These lines, then the facts."""
    return [*first, *(alt.Tooltip(f"{_field(name)}:N", title=title) for name, title in _TITLES.items())]


def _field(name: str) -> str:
    return f"told_{name}"
