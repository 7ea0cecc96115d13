"""The data of the timelines: one kernel of one way, in numbers and in words, and the color of its role."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.template import several


class Tone(Enum):
    """What a color says, in words: what quantizes is blue, and half blue beside other work."""

    WORK = "multiplies"
    BESIDE = "a pass of the matmul"
    COST = "quantizes"
    MERGED = "quantizes on the way out"
    REST = "all else"

    def color(self, ink: Ink) -> str:
        """The color in the ink of a theme."""
        return {
            Tone.WORK: ink.dot,
            Tone.BESIDE: ink.mid,
            Tone.COST: ink.scale,
            Tone.MERGED: ink.ramp[2],
            Tone.REST: ink.line,
        }[self]


class Paint(NamedTuple):
    """A role and its tone."""

    name: str
    tone: Tone


def color_scale(roles: Sequence[Paint], ink: Ink) -> alt.Scale:
    """The colors of these roles."""
    colors = [role.tone.color(ink) for role in roles]
    return alt.Scale(domain=[role.name for role in roles], range=colors)


def legend(roles: Sequence[Paint], ink: Ink) -> str:
    """HTML that names the tones of these roles."""
    tones = dict.fromkeys(role.tone for role in roles)
    named = "".join(
        f'<span><i style="background:{tone.color(ink)}"></i>{tone.value}</span>' for tone in tones
    )
    return (
        "<style>.fp8-tones{display:flex;flex-wrap:wrap;gap:2px 20px;font-size:14px}"
        ".fp8-tones i{display:inline-block;width:12px;height:12px;border-radius:2px;margin-right:6px}</style>"
        f'<div class="fp8-tones" style="color:{ink.text}">{named}</div>'
    )


def roles_legend(roles: Sequence[Paint], ink: Ink) -> alt.Legend:
    """A legend of those of these roles that fill the hole "roles"."""
    return alt.Legend(
        orient="top",
        columns=6,
        labelColor=ink.text,
        labelLimit=220,
        symbolOpacity=1,
        values=several("roles", [role.name for role in roles]),
    )


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A kernel: when it ran, its role, and what its tooltip says.

    own_us: of its time, that in which none of the kernels before ran any more.
    """

    start_us: float
    end_us: float
    own_us: float
    role: str
    phase: str
    what: str
    time: str
    traffic: str
    rate: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Lane:
    """One way: its name, its kernels in the order in which they ran, and its figures in words.

    told: what the way does. speed: over bf16. time: of a step. share: of quantizing in it.
    """

    name: str
    bars: tuple[Bar, ...]
    told: str
    speed: str
    time: str
    share: str

    @property
    def end_us(self) -> float:
        return max(bar.end_us for bar in self.bars)

    @property
    def turn_us(self) -> float | None:
        """The start of the backward pass; None where only the forward pass ran."""
        later = (bar.start_us for bar in self.bars if bar.phase != self.bars[0].phase)
        return next(later, None)

    def of_role(self, role: str) -> list[Bar]:
        return [bar for bar in self.bars if bar.role == role]

    def role_us(self, role: str) -> float:
        """The time of a role's kernels, none of it counted twice."""
        return sum(bar.own_us for bar in self.of_role(role))


FIELDS = ("what", "role", "phase", "time", "traffic", "rate", "name")
TITLES = ("kernel", "role", "pass", "time", "bytes", "rate", "its name")
"""The lines of a tooltip."""
