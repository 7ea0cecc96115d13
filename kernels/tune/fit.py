"""The fit of the cost model's constants to measurements: least squares on the logarithm of the time.

Every constant is positive, so the fit is of its logarithm, by Gauss and Newton's steps with a damping that
adapts (Levenberg and Marquardt). Each constant is drawn to its prior with the weight of part of a
measurement. Where there is an earlier fit, its constants are the priors, and each weighs as much as part of
all measurements that it was fitted to: a few launches more must not undo what thousands told. What was
measured then and not now is kept.
What one launch in many depends on is not fitted (FIRM).
A measurement depends on its variant, its body and what all share, so a step asks for few
predictions.

Launches that were timed in turns share a clock, which their neighbors' heat decides. So what their residuals
have in common counts less than how they differ: a choice among them depends on their differences.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernels.device import Device
from kernels.gemm.cost.constants import Constants, Error, Of, Rate, Shared
from kernels.gemm.cost.model import predict_us
from kernels.gemm.cost.prior import BODY, SHARED, rate_of
from kernels.gemm.cost.variant import Variant
from kernels.gemm.cost.work import Work
from kernels.gemm.tuned import Measurement

_STEPS = 30
_TINY = 1e-4
_DAMPING, _MOST_DAMPING = 1e-2, 1e6
_PRIOR_WEIGHT = 0.25
"""Of a prior, beside a measurement."""
_REMEMBERED = 0.05
"""Of an earlier measurement, for each constant that it was fitted with, beside one of now. A judgment."""
FIRM = ("sm_gb_s",)
"""No SM was seen to take more from the L2. Launches with few rows would let it drift: others do not depend on
it until it is far off.
"""
_FIRM_WEIGHT = 1e6
_ROBUST = 0.15
"""A residual beyond this counts less: what the model does not see must not bend what it does."""
_SETTLED = 1e-5
_SHARED_VARIANCE = 2.0
"""Of what the residuals of launches timed in turns have in common, beside the variance that each has."""

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """A launch's work and its time. turns: equal for launches that were timed in turns."""

    work: Work
    us: float
    turns: Hashable = None


def fit(
    measured: Sequence[Measured],
    measurement: Measurement,
    device: Device,
    tell: Callable[[str], None],
    before: Constants | None = None,
) -> Constants:
    """Constants that explain the measurements of a device best. before: those of an earlier fit, for it."""
    problem = _Problem(measured, before)
    values, cost, damping = problem.start.copy(), np.inf, _DAMPING
    residuals = problem.residuals(values)
    cost = problem.cost(residuals, values)
    for step in range(_STEPS):
        if damping > _MOST_DAMPING:
            break
        jacobian = problem.apart(problem.jacobian(values, residuals))
        told = problem.apart(residuals)
        weights = 1 / (1 + (told / _ROBUST) ** 2)
        curvature = (jacobian.T * weights) @ jacobian + np.diag(problem.prior_weights)
        slope = (jacobian.T * weights) @ told + problem.prior_weights * (values - problem.start)
        while damping <= _MOST_DAMPING:
            change = np.linalg.solve(curvature + damping * np.diag(np.diag(curvature) + _TINY), -slope)
            tried = values + np.clip(change, -1.0, 1.0)
            found = problem.residuals(tried)
            better = problem.cost(found, tried)
            if better < cost:
                break
            damping *= 4
        else:
            break
        gain = cost - better
        values, residuals, cost, damping = tried, found, better, damping / 3
        tell(f"step {step + 1}: median error {np.median(np.abs(residuals)):.1%}")
        if gain < _SETTLED * cost:
            break
    sizes = np.abs(residuals)
    error = Error(
        measurements=len(measured),
        median=round(float(np.median(sizes)), 4),
        p95=round(float(np.quantile(sizes, 0.95)), 4),
    )
    return problem.constants(values, measurement, device, error)


class _Problem:
    """Measurements, and the vector of logarithms of all constants that they depend on."""

    def __init__(self, measured: Sequence[Measured], before: Constants | None) -> None:
        self._measured, self._before = measured, before
        self._bodies = sorted({each.work.variant.body for each in measured})
        self._variants = list(dict.fromkeys(each.work.variant for each in measured))
        self._shared = list(asdict(SHARED))
        self._counts: dict[Variant, int] = {}
        for each in measured:
            self._counts[each.work.variant] = self._counts.get(each.work.variant, 0) + 1
        start = [*asdict(before.shared if before else SHARED).values()]
        known = dict(before.bodies) if before else {}
        for body in self._bodies:
            start += asdict(known.get(body, BODY)).values()
        self._kept = {rate.variant: rate for rate in (before.variants if before else ())}
        for variant in self._variants:
            rate = self._kept.get(variant) or rate_of(variant)
            start += [rate.step_ns, rate.fixed_ns]
        self.start: Vector = np.log(np.array(start))
        self.prior_weights: Vector = _PRIOR_WEIGHT + _REMEMBERED * np.array(self._fitted_before())
        self.prior_weights[[self._shared.index(name) for name in FIRM]] = _FIRM_WEIGHT
        self._logs = np.log(np.array([each.us for each in measured]))
        self._places = [self._places_of(each.work) for each in measured]
        self._touched: list[list[int]] = [[] for _ in start]
        for row, places in enumerate(self._places):
            for place in places:
                self._touched[place].append(row)
        together: dict[Hashable, list[int]] = {}
        for row, each in enumerate(measured):
            together.setdefault(row if each.turns is None else (each.turns,), []).append(row)
        self._together = [rows for rows in together.values() if len(rows) > 1]

    def _fitted_before(self) -> list[int]:
        """Number of earlier measurements that each constant was fitted to."""
        of_body: dict[str, int] = {}
        for variant, rate in self._kept.items():
            of_body[variant.body] = of_body.get(variant.body, 0) + rate.count
        found = [sum(of_body.values())] * len(self._shared)
        for body in self._bodies:
            found += [of_body.get(body, 0)] * len(asdict(BODY))
        for variant in self._variants:
            found += [self._count_before(variant)] * 2
        return found

    def _count_before(self, variant: Variant) -> int:
        """Number of earlier measurements of a variant."""
        return self._kept[variant].count if variant in self._kept else 0

    def apart(self, found: Vector) -> Vector:
        """Residuals, or their derivatives, less most of what those of launches timed in turns share."""
        left = found.copy()
        for rows in self._together:
            part = 1 - 1 / np.sqrt(1 + len(rows) * _SHARED_VARIANCE)
            left[rows] -= part * found[rows].mean(axis=0)
        return left

    def _places_of(self, work: Work) -> list[int]:
        shared = len(self._shared)
        each = len(asdict(BODY))
        body = shared + each * self._bodies.index(work.variant.body)
        variant = shared + each * len(self._bodies) + 2 * self._variants.index(work.variant)
        return [*range(shared), *range(body, body + each), variant, variant + 1]

    def residuals(self, values: Vector) -> Vector:
        """log(predicted / measured)"""
        constants = self._made(values)
        return np.log([predict_us(each.work, constants) for each in self._measured]) - self._logs

    def cost(self, residuals: Vector, values: Vector) -> float:
        robust = _ROBUST**2 * np.log1p((self.apart(residuals) / _ROBUST) ** 2).sum()
        return float(robust + (self.prior_weights * (values - self.start) ** 2).sum())

    def jacobian(self, values: Vector, residuals: Vector) -> Vector:
        """Derivatives of residuals, by differences. Only what a constant touches is predicted again."""
        found = np.zeros((len(self._measured), len(values)))
        for place, rows in enumerate(self._touched):
            moved = values.copy()
            moved[place] += _TINY
            constants = self._made(moved)
            for row in rows:
                changed = np.log(predict_us(self._measured[row].work, constants)) - self._logs[row]
                found[row, place] = (changed - residuals[row]) / _TINY
        return found

    def constants(self, values: Vector, measurement: Measurement, device: Device, error: Error) -> Constants:
        made = self._made(values)
        return replace(
            made,
            gpu=measurement.gpu,
            date=measurement.date,
            versions=measurement.versions,
            sms=device.sms,
            clock_mhz=device.clock_mhz,
            memory_gb_s=device.memory_gb_s,
            error=error,
        )

    def _made(self, values: Vector) -> Constants:
        numbers = np.exp(values).tolist()
        shared = Shared(**dict(zip(self._shared, numbers, strict=False)))
        place = len(self._shared)
        bodies, of = dict(self._before.bodies) if self._before else {}, asdict(BODY)
        for name in self._bodies:
            bodies[name] = Of(**dict(zip(of, numbers[place:], strict=False)))
            place += len(of)
        rates = []
        for variant in self._variants:
            rates.append(
                Rate(
                    variant=variant,
                    step_ns=numbers[place],
                    fixed_ns=numbers[place + 1],
                    count=self._count_before(variant) + self._counts[variant],
                )
            )
            place += 2
        rates += [rate for variant, rate in self._kept.items() if variant not in self._counts]
        nothing = Error(measurements=0, median=0.0, p95=0.0)
        return Constants(
            gpu="",
            date="",
            versions={},
            sms=0,
            clock_mhz=0.0,
            memory_gb_s=0.0,
            shared=shared,
            bodies=bodies,
            variants=tuple(rates),
            error=nothing,
        )
