"""The tooltip on the measurement behind a mark, in every chart of benchmarks."""

from dataclasses import asdict, dataclass

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

    def fields(self) -> dict[str, object]:
        """Fields of a mark's datum, under names that no chart has for its own."""
        return {_field(name): told for name, told in asdict(self).items()}


def tooltip(*first: alt.Tooltip) -> list[alt.Tooltip]:
    """These lines, then the facts."""
    return [*first, *(alt.Tooltip(f"{_field(name)}:N", title=title) for name, title in _TITLES.items())]


def _field(name: str) -> str:
    return f"told_{name}"
