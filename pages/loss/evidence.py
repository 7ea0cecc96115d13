"""What a change does in the layers, from recorded statistics: the figure behind its reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from fp8core.linear import MATMULS
from kernels.train.row import CopyStatistics, ProductStatistics, Statistics
from kernels.train.sizes import HEAD
from kernels.train.variants import Variant
from pages.kit.charts.words import count, short
from pages.loss.controls import LATE
from pages.loss.inside import LOG_NAMES, taken
from pages.loss.runs import Group, Key, key_of


@dataclass(frozen=True)
class Sign:
    """The statistic that shows a change: of which tensor, in which matmul.

    - field: one of CopyStatistics. y, dx and dw have the SQNR only.
    - layer: the one layer that is changed, beside the others of its run; empty where all are, beside a run
      without the change.
    """

    tensor: str
    matmul: str
    field: str = "sqnr_db"
    layer: str = ""

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
    "one_scale_e2m1": Sign("dy", "dgrad", "underflows_percent"),
    "head_in_four_bits": Sign("dy", "dgrad", "underflows_percent", HEAD),
    "mx_floor": Sign("x", "fprop", "overflows_percent"),
    "e4m3_gradients": Sign("dy", "dgrad", "underflows_percent"),
    "fast_everywhere": Sign("dw", "wgrad"),
    "no_rotation": Sign("dw", "wgrad"),
}
"""By the name of the change."""


def evidence(variant: Variant, group: Group | None) -> str:
    """The statistic with the change and without it, as a sentence; empty where it is not recorded."""
    sign = SIGNS.get(variant.name)
    if group is None or sign is None:
        return ""
    if sign.layer:
        return _of_one_layer(group, key_of(variant.job), sign)
    changed, beside = ([*_values(group, key_of(job), sign).values()] for job in (variant.job, variant.beside))
    if not changed:
        return ""
    without = f", without the change {sign.told(median(beside))}" if beside else ""
    over = f"the median of {sign.title} over {count(len(changed), 'layer')}"
    told = f"At the end, {over} is {sign.told(median(changed))}{without}."
    zeros = _zeros(group, key_of(variant.job), sign)
    return (
        f"{told} In {count(zeros, 'other layer')} {sign.tensor} is 0 before it is quantized."
        if zeros
        else told
    )


def _of_one_layer(group: Group, key: Key, sign: Sign) -> str:
    """The statistic in one layer and in the others, as a sentence; empty where it is not recorded."""
    found = _values(group, key, sign)
    if sign.layer not in found or len(found) < 2:
        return ""
    own = found.pop(sign.layer)
    others = f"its median over the {count(len(found), 'other layer')} is {sign.told(median(found.values()))}"
    return f"At the end, {sign.title} is {sign.told(own)} in the {sign.layer}; {others}."


def _last(group: Group, key: Key) -> Statistics | None:
    """The last statistics of a run of this kind; None where none is recorded."""
    recorded = [run.row.statistics for run in group.of(key) if run.row.statistics]
    return taken(recorded[0], LATE) if recorded else None


def _values(group: Group, key: Key, sign: Sign) -> dict[str, float]:
    """The statistic of all layers whose tensor is not 0, by name; none where nothing is recorded."""
    last = _last(group, key)
    if last is None:
        return {}
    return {
        layer: value
        for one in (*last.copies, *last.products)
        if (one.tensor, one.matmul) == (sign.tensor, sign.matmul)
        for layer, value, amax in zip(last.layers, getattr(one, sign.field), _sizes(one), strict=True)
        if value is not None and amax != 0
    }


def _zeros(group: Group, key: Key, sign: Sign) -> int:
    """Layers whose tensor is 0, every element of it."""
    last = _last(group, key)
    copies = last.copies if last is not None else ()
    return sum(one.amax.count(0) for one in copies if (one.tensor, one.matmul) == (sign.tensor, sign.matmul))


def _sizes(one: CopyStatistics | ProductStatistics) -> Sequence[float | None]:
    """amax in each layer; None for results, whose amax is not kept."""
    return one.amax if isinstance(one, CopyStatistics) else [None] * len(one.sqnr_db)
