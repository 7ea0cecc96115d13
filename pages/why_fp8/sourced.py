"""Figures and claims with their sources, of `assets/why.toml`."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from kernels.paths import TOP
from pages.kit.origins import Sourced
from pages.kit.widgets import Place

FILE = TOP / "assets" / "why.toml"


@dataclass(frozen=True, kw_only=True)
class Model(Sourced):
    name: str
    title: str
    layers: int
    width: int
    ffn: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int

    @property
    def projections(self) -> int:
        return 2 * self.width * self.head_dim * (self.heads + self.kv_heads)

    @property
    def ffns(self) -> int:
        return 3 * self.width * self.ffn

    @property
    def parameters(self) -> int:
        return self.layers * (self.projections + self.ffns) + 2 * self.vocabulary * self.width


@dataclass(frozen=True, kw_only=True)
class Measurement(Sourced):
    """Memory of one layer, measured by another program."""

    name: str
    tokens: int
    in_: int
    out: int
    moment: str
    weights: str
    quantized: bool
    mib: float


@dataclass(frozen=True, kw_only=True)
class Part(Sourced):
    name: str
    title: str
    format: str
    work: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Event(Sourced):
    bits: int
    title: str
    told: str


@dataclass(frozen=True, kw_only=True)
class TrainedModel(Sourced):
    name: str
    bits: int
    billions: float
    recipe: str
    trillions: float | None = None


@dataclass(frozen=True, kw_only=True)
class Contents:
    models: dict[str, Model]
    measured: tuple[Measurement, ...]
    parts: tuple[Part, ...]
    events: tuple[Event, ...]
    trained: tuple[TrainedModel, ...]


@cache
def sourced() -> Contents:
    data = tomllib.loads(FILE.read_text(encoding="utf-8"))
    measured = [{"in_" if key == "in" else key: v for key, v in one.items()} for one in data["measured"]]
    return Contents(
        models={one["name"]: Model(**one) for one in data["models"]},
        measured=tuple(Measurement(**one) for one in measured),
        parts=tuple(Part(**one) for one in data["parts"]),
        events=tuple(sorted((Event(**one) for one in data["events"]), key=lambda event: event.date)),
        trained=tuple(TrainedModel(**one) for one in data["trained"]),
    )


def links(entries: Iterable[Sourced]) -> str:
    return "; ".join(dict.fromkeys(entry.link for entry in entries))


def draw_sources(links: str, place: Place) -> None:
    """Draw links in small letters: in a caption's paler ones, links are hard to read."""
    place.markdown(f":small[Sources: {links}.]")
