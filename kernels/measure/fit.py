"""The fit of the chooser's rates to measured launches: least squares on the logarithm of the time.

Rates are positive, so their logarithms are fitted, by Levenberg-Marquardt steps. Each rate is drawn to its
value before, by part of the measurements behind it: a few launches must not undo thousands. sm_gb_s is not
fitted: no SM took more from the L2. Launches timed in turns share a clock, so what their residuals have in
common counts less than their differences, on which a choice among them depends.
"""

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device import Device, Unsupported
from kernels.files import replace_file
from kernels.gemm.blocks import Blocks, Offer, Variant
from kernels.gemm.cost import Rates, class_of, facts_of, predict_us, stacked
from kernels.gemm.hopper.storage import takes_pairs
from kernels.gemm.numerics import numerics_of
from kernels.measure.jobs import GemmJob
from kernels.typed import Positive, from_data, to_data

_STEPS, _SETTLED = 30, 1e-5
_DAMPING, _MOST_DAMPING = 1e-2, 1e6
_TINY = 1e-4
_SLOW = 2
"""How much slower a new class multiplies at first: a time that shared memory's hides has no slope."""
_PRIOR, _REMEMBERED, _MOST_REMEMBERED = 0.25, 0.01, 400
"""Weight of a rate's value before, beside one measurement; of each earlier measurement, and of how many."""
_ROBUST = 0.15
"""A residual beyond this counts less: it may be of an effect that the model lacks."""
_SHARED_VARIANCE = 2.0
"""Variance of the part that residuals of launches in one set of turns share, beside that of each."""

Vector = NDArray[np.float64]
Key = tuple[str, str, str]
"""(table, variant or class, name) of a rate; the middle is empty among the shared ones."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The time of a GEMM under some blocks. Those of one GEMM took turns."""

    gemm: GemmJob
    blocks: Blocks
    us: Positive


def read_samples(path: Path) -> list[Sample]:
    return [from_data(Sample, json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def add_samples(path: Path, samples: Sequence[Sample]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(to_data(each)) + "\n" for each in samples)


class Launches:
    def __init__(self, samples: Sequence[Sample], device: Device) -> None:
        self._device, facts = device, []
        self.classes = []
        for each in samples:
            numerics = numerics_of(each.gemm.spec, device, each.gemm.accumulation)
            if isinstance(numerics, Unsupported):
                raise numerics
            pairs = each.blocks.variant is Variant.DECODING and takes_pairs(each.blocks)
            offer = Offer(blocks=each.blocks, own_splits=1 + pairs)
            facts.append(facts_of(numerics, offer))
            self.classes.append(class_of(numerics, offer))
        self._facts = stacked(facts)
        keys = [(each.blocks.variant.value, of) for each, of in zip(samples, self.classes, strict=True)]
        self._keys = [*dict.fromkeys(keys)]
        self._key_of = np.array([self._keys.index(key) for key in keys])
        self._mnk = tuple(np.array(sizes) for sizes in zip(*(each.gemm.mnk for each in samples), strict=True))
        self._orders = tuple(
            np.array([getattr(each.blocks, name) for each in samples]) for name in ("split_k", "group")
        )
        self.logs = np.log([each.us for each in samples])
        together: dict[Hashable, list[int]] = {}
        for row, each in enumerate(samples):
            together.setdefault(each.gemm, []).append(row)
        self._together = [rows for rows in together.values() if len(rows) > 1]

    def predict_us(self, rates: Rates) -> Vector:
        own = stacked(rates.of(*key) for key in self._keys)
        own = {name: each[self._key_of] for name, each in own.items()}
        numbers = {**self._facts, **own, **rates.shared}
        return predict_us(numbers, *self._orders, self._mnk, self._device)

    def apart(self, residuals: Vector) -> Vector:
        """Residuals, or their derivatives, less most of what those of launches timed in turns share."""
        rest = residuals.copy()
        for rows in self._together:
            rest[rows] -= (1 - 1 / np.sqrt(1 + len(rows) * _SHARED_VARIANCE)) * residuals[rows].mean(axis=0)
        return rest


def fit(samples: Sequence[Sample], device: Device, prior: Rates) -> Rates:
    """Rates that best explain measurements of a device. `prior`: those of an earlier fit.

    A class without measurements begins with the numbers of the first one, multiplying slowly. Raises
    Unsupported for a GEMM that the device does not compute.
    """
    launches = Launches(samples, device)
    first = dict(next(iter(prior.classes.values())))
    first |= {"count": 0, "product_ns": _SLOW * first["product_ns"]}
    classes = {
        key: prior.classes.get(key, first) for key in dict.fromkeys([*prior.classes, *launches.classes])
    }
    prior = replace(prior, classes=classes)
    numbers = _numbers(prior)
    keys, start = [*numbers], np.log([*numbers.values()])
    weights = _PRIOR + _REMEMBERED * np.array([_count(prior, key) for key in keys], float)
    values, damping = start, _DAMPING

    def residuals(trial: Vector) -> Vector:
        return np.log(launches.predict_us(_with(prior, keys, trial))) - launches.logs

    def cost(errors: Vector, trial: Vector) -> float:
        robust = _ROBUST**2 * np.log1p((launches.apart(errors) / _ROBUST) ** 2).sum()
        return float(robust + (weights * (trial - start) ** 2).sum())

    errors = residuals(values)
    least = cost(errors, values)
    for _ in range(_STEPS):
        moves = np.eye(len(values)) * _TINY
        jacobian = np.stack([(residuals(values + move) - errors) / _TINY for move in moves], axis=1)
        jacobian, apart = launches.apart(jacobian), launches.apart(errors)
        robust = 1 / (1 + (apart / _ROBUST) ** 2)
        curvature = (jacobian.T * robust) @ jacobian + np.diag(weights)
        slope = (jacobian.T * robust) @ apart + weights * (values - start)
        gain = 0.0
        while damping <= _MOST_DAMPING and gain <= 0:
            change = np.linalg.solve(curvature + damping * np.diag(np.diag(curvature) + _TINY), -slope)
            trial = values + np.clip(change, -1.0, 1.0)
            better = residuals(trial)
            gain, damping = least - cost(better, trial), damping * 4
        if gain <= 0:
            break
        values, errors, least, damping = trial, better, least - gain, damping / 12
        if gain < _SETTLED * least:
            break
    rates = _with(prior, keys, values)
    counted = {
        key: each | {"count": each["count"] + launches.classes.count(key)}
        for key, each in rates.classes.items()
    }
    return replace(rates, classes=counted)


def write(rates: Rates, path: Path) -> None:
    """Write a file of rates for kernels.gemm.cost, a class a line, in four digits."""
    data = to_data(rates)
    tables = []
    for of in ("shared", "variants", "classes"):
        lines = ",\n".join(
            f"  {json.dumps(key)}: {json.dumps(_rounded(each))}" for key, each in data.pop(of).items()
        )
        tables.append(f' "{of}": {{\n{lines}\n }}')
    head = json.dumps(data, ensure_ascii=False, indent=1).removesuffix("\n}")
    replace_file(path, ",\n".join([head, *tables]).encode() + b"\n}\n")


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _rounded(number) for name, number in value.items()}
    return float(f"{value:.4g}")


def _tables(rates: Rates) -> dict[str, dict[str, dict[str, float]]]:
    tables = {"shared": {"": rates.shared}, "variants": rates.variants, "classes": rates.classes}
    return {table: {of: dict(own) for of, own in owners.items()} for table, owners in tables.items()}


def _numbers(rates: Rates) -> dict[Key, float]:
    """The rates that are fitted."""
    owners = ((table, of, own) for table, each in _tables(rates).items() for of, own in each.items())
    numbers = {(table, of, name): rate for table, of, own in owners for name, rate in own.items()}
    return {key: rate for key, rate in numbers.items() if key[-1] not in ("sm_gb_s", "count")}


def _count(rates: Rates, key: Key) -> float:
    table, of, _ = key
    counts = {name: each["count"] for name, each in rates.classes.items()}
    if table == "classes":
        return min(counts[of], _MOST_REMEMBERED)
    words = f"{of} " if table == "variants" else ""
    return min(sum(n for name, n in counts.items() if name.startswith(words)), _MOST_REMEMBERED)


def _with(rates: Rates, keys: Sequence[Key], values: Vector) -> Rates:
    tables = _tables(rates)
    for (table, of, name), value in zip(keys, np.exp(values).tolist(), strict=True):
        tables[table][of][name] = value
    return replace(rates, shared=tables["shared"][""], variants=tables["variants"], classes=tables["classes"])
