"""Series of a tensor's amax over training steps: seeded, or recorded in a training run."""

from enum import Enum

import numpy as np

from fp8core.arrays import Float64
from fp8core.checks import instance, whole
from fp8core.inputs.recorded import RUN, Note, Part, amax_metadata, amax_of, has_amax, note
from fp8core.linear import OPERANDS, LayerTensor


class SeriesKind(Enum):
    STEADY = "steady"
    SPIKES = "spikes"
    DRIFT = "drift"
    WARMUP = "warmup"
    REAL_QKV_X = "real_qkv_x"
    REAL_QKV_W = "real_qkv_w"
    REAL_QKV_DY = "real_qkv_dy"
    REAL_PROJ_X = "real_proj_x"
    REAL_PROJ_W = "real_proj_w"
    REAL_PROJ_DY = "real_proj_dy"
    REAL_GATE_UP_X = "real_gate_up_x"
    REAL_GATE_UP_W = "real_gate_up_w"
    REAL_GATE_UP_DY = "real_gate_up_dy"
    REAL_DOWN_X = "real_down_x"
    REAL_DOWN_W = "real_down_w"
    REAL_DOWN_DY = "real_down_dy"


RECORDED_SERIES: dict[SeriesKind, tuple[Part, LayerTensor]] = {
    SeriesKind(f"real_{part.key}_{tensor.value}"): (part, tensor) for part in Part for tensor in OPERANDS
}
"""Layer and tensor of each recorded series."""
OFFERED_SERIES = tuple(kind for kind in SeriesKind if kind not in RECORDED_SERIES or has_amax())


JITTER_OCTAVES = 0.2
SPIKE_CHANCE = 0.04
SPIKE_OCTAVES = (3.0, 7.0)
DRIFT_OCTAVES = 8.0
WARMUP_SHARE = 0.15
WARMUP_OCTAVES = 6.0
DECAY_OCTAVES = 4.0
_JITTER = f"2^({JITTER_OCTAVES:g} · N(0, 1))"

SERIES_NOTES: dict[SeriesKind, Note] = {
    SeriesKind.STEADY: Note("Steady", f"1 times {_JITTER} at every step"),
    SeriesKind.SPIKES: Note(
        "Spikes",
        f"steady, and each step with a chance of {SPIKE_CHANCE:.0%} times a factor from "
        f"{2 ** SPIKE_OCTAVES[0]:g} to {2 ** SPIKE_OCTAVES[1]:g}, evenly in octaves",
    ),
    SeriesKind.DRIFT: Note(
        "Drift", f"grows {2**DRIFT_OCTAVES:g}-fold over the series, evenly in octaves, times {_JITTER}"
    ),
    SeriesKind.WARMUP: Note(
        "Warm-up, then decay",
        f"grows {2**WARMUP_OCTAVES:g}-fold over the first {WARMUP_SHARE:.0%} of the steps, as gradients do "
        f"while the learning rate warms up, then falls to 1/{2**DECAY_OCTAVES:g} as a cosine, times "
        f"{_JITTER}; spikes as above",
    ),
} | {
    kind: note(
        f"Real: {tensor.value} of {part.value}",
        f"amax of {tensor.value} of the layer {part.value} at each step of training a small language model "
        f"{RUN}, from its first step on",
        amax_metadata,
    )
    for kind, (part, tensor) in RECORDED_SERIES.items()
}


def amax_series(kind: SeriesKind, steps: int, seed: int) -> Float64:
    """float64[steps], above 0: amax of each step. Equal arguments give equal numbers.

    A recorded series has no seed, and ends with its run. Raises ValueError for fewer than 1 step.
    """
    whole("a seed", seed, 0)
    whole("the number of steps", steps, 1)
    if instance("kind", kind, SeriesKind) in RECORDED_SERIES:
        return amax_of(*RECORDED_SERIES[kind])[:steps]
    rng = np.random.default_rng(seed)
    octaves = JITTER_OCTAVES * rng.standard_normal(steps)
    spikes = np.where(rng.random(steps) < SPIKE_CHANCE, rng.uniform(*SPIKE_OCTAVES, steps), 0.0)
    along = np.arange(steps) / max(steps - 1, 1)
    match kind:
        case SeriesKind.STEADY:
            pass
        case SeriesKind.SPIKES:
            octaves += spikes
        case SeriesKind.DRIFT:
            octaves += DRIFT_OCTAVES * along
        case SeriesKind.WARMUP:
            decay = np.clip((along - WARMUP_SHARE) / (1 - WARMUP_SHARE), 0.0, 1.0)
            octaves += WARMUP_OCTAVES * np.minimum(along / WARMUP_SHARE, 1.0)
            octaves -= DECAY_OCTAVES * (1 - np.cos(np.pi * decay)) / 2
            octaves += spikes
    return np.exp2(octaves)
