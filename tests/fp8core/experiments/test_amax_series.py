"""Contract: each series of amax goes where its name says, and jitters by a fraction of an octave."""

import numpy as np
import pytest

from fp8core.experiments.amax_series import (
    DECAY_OCTAVES,
    DRIFT_OCTAVES,
    JITTER_OCTAVES,
    SPIKE_CHANCE,
    SPIKE_OCTAVES,
    WARMUP_OCTAVES,
    SeriesKind,
    amax_series,
)

STEPS = 4000
SPREAD = 6 * JITTER_OCTAVES


def octaves(kind: SeriesKind) -> np.ndarray:
    return np.log2(amax_series(kind, STEPS, 0))


@pytest.mark.parametrize(
    ("kind", "begin", "top", "end"),
    [
        (SeriesKind.STEADY, 0.0, 0.0, 0.0),
        (SeriesKind.SPIKES, 0.0, 0.0, 0.0),
        (SeriesKind.DRIFT, 0.0, 0.15 * DRIFT_OCTAVES, DRIFT_OCTAVES),
        (SeriesKind.WARMUP, 0.0, WARMUP_OCTAVES, WARMUP_OCTAVES - DECAY_OCTAVES),
    ],
)
def test_a_series_begins_rises_and_ends_where_its_kind_says(kind, begin, top, end):
    found = octaves(kind)
    for place, wanted in ((0, begin), (int(0.15 * STEPS), top), (STEPS, end)):
        near = found[max(place - 20, 0) : place + 20]
        assert np.median(near) == pytest.approx(wanted, abs=SPREAD / 6)


def test_only_some_steps_spike_and_by_whole_octaves():
    steady, spiky = octaves(SeriesKind.STEADY), octaves(SeriesKind.SPIKES)
    assert np.abs(steady).max() < SPREAD
    high = spiky > SPIKE_OCTAVES[0] - SPREAD
    assert high.mean() == pytest.approx(SPIKE_CHANCE, rel=0.25)
    assert spiky.max() < SPIKE_OCTAVES[1] + SPREAD
