"""The errors that a section shows, computed in the pool: yours, and those of what it is compared with."""

from collections.abc import Mapping
from dataclasses import dataclass

from fp8core.experiments.designs import result_errors
from fp8core.linear import MATMULS
from pages.design.controls import INPUT
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.kit.controls import Controls
from pages.kit.shared_controls import SEED

YOURS = "Yours"
Errors = dict[str, float]
"""The relative error of each result by its symbol: y, dx, dw."""


@dataclass(frozen=True)
class Measured:
    """Lines by the name under which they are drawn, and the errors of each line, for one input."""

    lines: Mapping[str, str]
    errors: Mapping[str, Errors]
    kind: str
    seed: int

    @property
    def by_name(self) -> dict[str, Errors]:
        return {name: self.errors[line] for name, line in self.lines.items()}


def measured(controls: Controls, lines: Mapping[str, str]) -> Measured | None:
    """The errors of these lines; the last ones that were there until then, None where there were none."""
    kind, seed = controls.value(INPUT), controls.value(SEED)
    shown = computed(
        "design",
        (tuple(lines.items()), kind, seed),
        [Call(result_errors, (line, kind, seed)) for line in lines.values()],
        doing="Quantizing",
    )
    if shown is None:
        return None
    pairs, kind, seed = shown.asked
    errors = {
        line: {matmul.d.value: part[name] for name, matmul in MATMULS.items()}
        for (_, line), part in zip(pairs, shown.parts, strict=True)
    }
    return Measured(lines=dict(pairs), errors=errors, kind=kind, seed=seed)
