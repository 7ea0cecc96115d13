"""The fit of the chooser's rates to measurements: least squares on the logarithm of the time.

Every rate is positive, so the fit is of its logarithm, by Gauss and Newton's steps with a damping that
adapts (Levenberg and Marquardt). Each rate is drawn to what it was before, with the weight of part of the
measurements that it was fitted to then: a few launches more must not undo what thousands told. sm_gb_s is not
fitted: no SM was seen to take more from the L2.

Launches that were timed in turns share a clock, which their neighbors' heat decides. So what their residuals
have in common counts less than how they differ: a choice among them depends on their differences.
"""

import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device import Device
from kernels.files import replace_file
from kernels.gemm.blocks import Blocks, Offer, Variant
from kernels.gemm.choose import Expanded, Rates, class_of, facts_of, predict_us
from kernels.gemm.hopper.storage import takes_pairs
from kernels.gemm.meaning import Meaning
from kernels.typed import to_data

_STEPS, _SETTLED = 30, 1e-5
_DAMPING, _MOST_DAMPING = 1e-2, 1e6
_TINY = 1e-4
_PRIOR, _REMEMBERED = 0.25, 0.05
"""Weight of a rate's value before, beside a measurement; and of each earlier measurement. Judgments."""
_MOST_REMEMBERED = 400
_ROBUST = 0.15
"""A residual beyond this counts less: what the model does not see must not bend what it does."""
_SHARED_VARIANCE = 2.0
"""Of what the residuals of launches timed in turns have in common, beside the variance that each has."""

Vector = NDArray[np.float64]
Place = tuple[str, str, str]
"""Where a rate stands: (table, key, name); the key is empty among the shared ones."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """A measured launch. turns: equal for launches that were timed in turns."""

    meaning: Meaning
    mnk: tuple[int, int, int]
    blocks: Blocks
    us: float
    turns: Hashable = None


class Launches:
    """Measured launches as arrays, for predictions of all of them at once."""

    def __init__(self, launches: Sequence[Launch], device: Device) -> None:
        self._device = device
        offers = [Offer(blocks=each.blocks, each=1 + _takes_pairs(each.blocks)) for each in launches]
        facts = [facts_of(each.meaning, offer) for each, offer in zip(launches, offers, strict=True)]
        self._facts = {name: np.array([each[name] for each in facts]) for name in facts[0]}
        self.classes = [class_of(each.meaning, offer) for each, offer in zip(launches, offers, strict=True)]
        self.variants = [each.blocks.variant.value for each in launches]
        self._mnk = tuple(np.array(sizes) for sizes in zip(*(each.mnk for each in launches), strict=True))
        split, group = (
            np.array([getattr(each.blocks, name) for each in launches]) for name in ("split_k", "group")
        )
        self._found = Expanded(np.arange(len(launches)), split, group)
        self.logs = np.log([each.us for each in launches])
        together: dict[Hashable, list[int]] = {}
        for row, each in enumerate(launches):
            together.setdefault(row if each.turns is None else (each.turns,), []).append(row)
        self._together = [rows for rows in together.values() if len(rows) > 1]

    def predict_us(self, rates: Rates) -> Vector:
        numbers = {}
        for of, keys in (("variants", self.variants), ("classes", self.classes)):
            for name in next(iter(getattr(rates, of).values())):
                numbers[name] = rates.vector(name, of, keys)
        return predict_us(self._facts, numbers, rates.shared, self._found, self._mnk, self._device)

    def apart(self, found: Vector) -> Vector:
        """Residuals, or their derivatives, less most of what those of launches timed in turns share."""
        left = found.copy()
        for rows in self._together:
            left[rows] -= (1 - 1 / np.sqrt(1 + len(rows) * _SHARED_VARIANCE)) * found[rows].mean(axis=0)
        return left


def fit(launches: Sequence[Launch], device: Device, before: Rates, tell: Callable[[str], None]) -> Rates:
    """Rates that explain measurements of a device best. before: those of an earlier fit."""
    made = Launches(launches, device)
    first = before.classes[next(iter(before.classes))] | {"count": 0}
    new = {key: before.classes.get(key, first) for key in dict.fromkeys([*before.classes, *made.classes])}
    before = replace(before, classes=new)
    places = [*_places(before)]
    start = np.log([_at(before, place) for place in places])
    weights = _PRIOR + _REMEMBERED * np.array([_count(before, place) for place in places], float)
    values, damping = start, _DAMPING

    def residuals(tried: Vector) -> Vector:
        return np.log(made.predict_us(_with(before, places, tried))) - made.logs

    def cost(found: Vector, tried: Vector) -> float:
        robust = _ROBUST**2 * np.log1p((made.apart(found) / _ROBUST) ** 2).sum()
        return float(robust + (weights * (tried - start) ** 2).sum())

    found = residuals(values)
    least = cost(found, values)
    for step in range(_STEPS):
        moves = np.eye(len(values)) * _TINY
        jacobian = np.stack([(residuals(values + move) - found) / _TINY for move in moves], axis=1)
        jacobian, apart = made.apart(jacobian), made.apart(found)
        robust = 1 / (1 + (apart / _ROBUST) ** 2)
        curvature = (jacobian.T * robust) @ jacobian + np.diag(weights)
        slope = (jacobian.T * robust) @ apart + weights * (values - start)
        gain = 0.0
        while damping <= _MOST_DAMPING and gain <= 0:
            change = np.linalg.solve(curvature + damping * np.diag(np.diag(curvature) + _TINY), -slope)
            tried = values + np.clip(change, -1.0, 1.0)
            better = residuals(tried)
            gain, damping = least - cost(better, tried), damping * 4
        if gain <= 0:
            break
        values, found, least, damping = tried, better, least - gain, damping / 12
        tell(f"step {step + 1}: median error {np.median(np.abs(found)):.1%}")
        if gain < _SETTLED * least:
            break
    fitted = _with(before, places, values)
    counts = {key: each["count"] + made.classes.count(key) for key, each in fitted.classes.items()}
    classes = {key: each | {"count": counts[key]} for key, each in fitted.classes.items()}
    return replace(fitted, classes=classes)


def write(rates: Rates, path: Path) -> None:
    """Write a file of rates for kernels.gemm.choose, a class a line, in four digits."""
    data = to_data(rates)
    tables = []
    for of in ("shared", "variants", "classes"):
        each = _rounded(data.pop(of))
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in each.items())
        tables.append(f' "{of}": {{\n{lines}\n }}')
    head = json.dumps(data, ensure_ascii=False, indent=1).removesuffix("\n}")
    replace_file(path, ",\n".join([head, *tables]).encode() + b"\n}\n")


def _rounded(table: Mapping[str, Any]) -> dict[str, Any]:
    def rounded(value: Any) -> Any:
        return _rounded(value) if isinstance(value, Mapping) else float(f"{value:.4g}")

    return {key: value if isinstance(value, int) else rounded(value) for key, value in table.items()}


def _takes_pairs(blocks: Blocks) -> bool:
    """True where a program of these blocks takes two runs of K."""
    return blocks.variant is Variant.DECODING and takes_pairs(blocks)


def _places(rates: Rates) -> Iterator[Place]:
    yield from (("shared", "", name) for name in rates.shared if name != "sm_gb_s")
    for table in ("variants", "classes"):
        for key, numbers in getattr(rates, table).items():
            yield from ((table, key, name) for name in numbers if name != "count")


def _at(rates: Rates, place: Place) -> float:
    table, key, name = place
    return rates.shared[name] if table == "shared" else getattr(rates, table)[key][name]


def _count(rates: Rates, place: Place) -> float:
    """Number of earlier measurements that a rate was fitted to, up to a number."""
    table, key, _ = place
    counts = {name: each["count"] for name, each in rates.classes.items()}
    if table == "classes":
        return min(counts[key], _MOST_REMEMBERED)
    words = f"{key} " if table == "variants" else ""
    return min(sum(n for name, n in counts.items() if name.startswith(words)), _MOST_REMEMBERED)


def _with(rates: Rates, places: Sequence[Place], values: Vector) -> Rates:
    tables = {"shared": {"": dict(rates.shared)}}
    for of in ("variants", "classes"):
        tables[of] = {key: dict(each) for key, each in getattr(rates, of).items()}
    for (table, key, name), value in zip(places, np.exp(values).tolist(), strict=True):
        tables[table][key][name] = value
    return replace(rates, shared=tables["shared"][""], variants=tables["variants"], classes=tables["classes"])
