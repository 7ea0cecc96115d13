"""Gradients in formats without a scale of their own: the share that is lost at each loss scale."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from fp8core.formats import FORMATS
from fp8core.formats.survival import Fates, fates
from pages.kit.gradients import gradients
from pages.why_fp8.controls import LOSS_SCALE

NAMES = ("fp16", "bf16", "e5m2", "e4m3", "e2m1")


@cache
def lost() -> Mapping[str, Sequence[Fates]]:
    """The fate of the gradients times 2^k, by format, for each k of the slider."""
    x = gradients()
    scales = range(LOSS_SCALE.low, LOSS_SCALE.high + 1)
    return {name: [fates(FORMATS[name], np.ldexp(x, k)) for k in scales] for name in NAMES}


def gone(found: Fates) -> float:
    """The share that becomes zero or overflows."""
    return found.zero + found.overflow


def best_scale(name: str) -> int:
    """log2 of the loss scale that loses the least in a format; the smallest of several."""
    shares = [gone(found) for found in lost()[name]]
    return shares.index(min(shares)) + LOSS_SCALE.low
