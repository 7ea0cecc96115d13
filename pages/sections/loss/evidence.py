"""What a change does in the layers, from recorded statistics: the figure behind its reason."""

from dataclasses import dataclass
from statistics import median

from fp8core.linear import MATMULS
from kernels.train.row import Statistics
from kernels.train.variants import Variant
from pages.kit.charts.words import short
from pages.sections.loss.controls import LATE
from pages.sections.loss.inside import LOG_NAMES, taken
from pages.sections.loss.runs import Group, Key, key_of


@dataclass(frozen=True)
class Sign:
    """The statistic that shows a change: of which tensor, in which matmul.

    `field` is one of CopyStatistics. y, dx and dw have the SQNR only.
    """

    tensor: str
    matmul: str
    field: str = "sqnr_db"

    @property
    def title(self) -> str:
        """The statistic in words."""
        return f"{LOG_NAMES.get(self.field, 'SQNR')} of {self.tensor} in {MATMULS[self.matmul].title}"

    def told(self, value: float) -> str:
        """A value with its unit."""
        return f"**{short(value, 3)}**{'' if self.field in LOG_NAMES else ' dB'}"


SIGNS = {
    "unscaled_gradients": Sign("dy", "dgrad", "underflows_percent"),
    "stochastic_fprop": Sign("y", "fprop"),
    "one_scale_e2m1": Sign("x", "fprop", "underflows_percent"),
    "mx_floor": Sign("x", "fprop", "overflows_percent"),
    "e4m3_gradients": Sign("dy", "dgrad", "underflows_percent"),
    "fast_everywhere": Sign("dw", "wgrad"),
    "no_rotation": Sign("dw", "wgrad"),
}
"""By the name of the change. The run beside "four bits in the head" quantizes no head, so it has none."""


def evidence(variant: Variant, group: Group | None) -> str:
    """The statistic with the change and without it, as a sentence; empty where it is not recorded."""
    sign = SIGNS.get(variant.name)
    if group is None or sign is None:
        return ""
    changed, beside = (_middle(group, key_of(job), sign) for job in (variant.job, variant.beside))
    if changed is None:
        return ""
    without = "" if beside is None else f", without the change {sign.told(beside)}"
    return f"At the end, {sign.title} is {sign.told(changed)} in the middle of all layers{without}."


def _middle(group: Group, key: Key, sign: Sign) -> float | None:
    """The median over layers in the last statistics of a run of this kind; None where there is none."""
    recorded = [run.row.statistics for run in group.of(key) if run.row.statistics]
    if not recorded:
        return None
    last: Statistics = taken(recorded[0], LATE)
    values = [
        value
        for one in (*last.copies, *last.products)
        if (one.tensor, one.matmul) == (sign.tensor, sign.matmul)
        for value in getattr(one, sign.field)
        if value is not None
    ]
    return median(values) if values else None
