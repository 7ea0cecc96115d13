"""What others measured, as `assets/loss.toml` has it, each with its source."""

import tomllib
from dataclasses import dataclass
from functools import cache

from kernels.paths import ASSETS
from pages.kit.sourced import Sourced

FILE = ASSETS / "loss.toml"


@dataclass(frozen=True, kw_only=True)
class Published(Sourced):
    """A gap of the loss that somebody measured for some of our recipes."""

    recipes: list[str]
    of: str
    against: str
    percent: float | None = None
    nats: float | None = None
    loss: float | None = None
    at_most: bool = False
    runs: int | None = None

    @property
    def gap_percent(self) -> float | None:
        """The gap in % of the reference's loss; None where the source does not give that loss."""
        if self.percent is not None:
            return self.percent
        return 100 * self.nats / self.loss if self.nats is not None and self.loss else None

    @property
    def trained(self) -> str:
        """What was trained, against what, and how often."""
        runs = "" if self.runs is None else f"; {self.runs} run{'s' * (self.runs > 1)} of each"
        return f"{self.of}; against {self.against}{runs}"

    @property
    def told(self) -> str:
        """The gap in words."""
        found = self.gap_percent
        if found is None:
            return f"+{self.nats:g} nats"
        return f"{'below ' if self.at_most else '+'}{found:.2g}%"


@dataclass(frozen=True, kw_only=True)
class Noise(Sourced):
    """The standard deviation of equal runs that somebody measured."""

    of: str
    nats: float
    loss: float
    runs: int

    @property
    def percent(self) -> float:
        """In % of the loss."""
        return 100 * self.nats / self.loss


@dataclass(frozen=True, kw_only=True)
class AtScale(Sourced):
    """What was found for larger models about a change of a recipe."""

    variant: str
    found: str


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The whole file; `at_scale` by the name of the change."""

    published: tuple[Published, ...]
    noise: tuple[Noise, ...]
    at_scale: dict[str, AtScale]

    def of(self, recipe: str) -> tuple[Published, ...]:
        """The published gaps of one of our recipes, by its key."""
        return tuple(one for one in self.published if recipe in one.recipes)


@cache
def sourced() -> Contents:
    """The file's contents. Raises TypeError for an entry with a field too many or too few."""
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return Contents(
        published=tuple(Published(**one) for one in found["published"]),
        noise=tuple(Noise(**one) for one in found["noise"]),
        at_scale={one["variant"]: AtScale(**one) for one in found["at_scale"]},
    )
