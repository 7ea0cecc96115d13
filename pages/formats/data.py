"""The data of the page "Formats"."""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

import numpy as np

from fp8core.formats import FORMATS, Format
from fp8core.formats.float_format import FloatFormat
from fp8core.formats.survival import Fates, fates
from pages.formats.charts.gradients import gradient_chart
from pages.formats.controls import LOSS_SCALE, OWN, TITLES, OwnFields, format_of
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.gradients import gradients

GRADIENT_FORMATS = ("bf16", "fp16", "e5m2", "e4m3")
LOSS_SCALES = LOSS_SCALE.high + 1
_BINS_PER_BINADE = 2


def formats_by_title(names: tuple[str, ...], own: OwnFields) -> dict[str, Format]:
    """Formats by their titles on the page. Raises ValueError where the reader's own is impossible."""
    found = {name: format_of(name, own) for name in names}
    return {f.name if name == OWN else TITLES[name]: f for name, f in found.items()}


def gradient_formats() -> dict[str, FloatFormat]:
    """The formats to which the gradients are rounded, by title."""
    found = {TITLES[name]: FORMATS[name] for name in GRADIENT_FORMATS}
    return {title: format_ for title, format_ in found.items() if isinstance(format_, FloatFormat)}


@cache
def gradient_fates() -> Mapping[str, Sequence[Fates]]:
    """The fate of the gradients times 2^k, by the format's title, for each k."""
    x = gradients()
    return {
        title: [fates(format_, np.ldexp(x, k)) for k in range(LOSS_SCALES)]
        for title, format_ in gradient_formats().items()
    }


@lru_cache(maxsize=4)
def gradient_spec(theme: str, room: int) -> Filled:
    """The gradients against the window of each format."""
    log2 = np.log2(np.abs(gradients()))
    low, high = np.floor(np.quantile(log2, 0.0005)), np.ceil(log2.max())
    bins = np.linspace(low, high, int(high - low) * _BINS_PER_BINADE + 1)
    counts = np.histogram(log2, bins)[0]
    return gradient_chart(
        gradient_formats(), bins.tolist(), counts.tolist(), gradient_fates(), room, INKS[theme]
    )
