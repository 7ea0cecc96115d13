"""Contract: a sweep's parts are those of a direct computation; the share that a rule saturates is its closed
form; current scaling fits every step.
"""

import math

import numpy as np
import pytest

from fp8core.errors import split_error
from fp8core.experiments.amax_series import (
    DECAY_OCTAVES,
    DRIFT_OCTAVES,
    JITTER_OCTAVES,
    RECORDED_SERIES,
    SPIKE_CHANCE,
    SPIKE_OCTAVES,
    WARMUP_OCTAVES,
    SeriesKind,
    amax_series,
)
from fp8core.experiments.delayed_scaling import run_current, run_delayed
from fp8core.experiments.scale_sweep import sweep_scale
from fp8core.formats import FORMATS
from fp8core.inputs import InputKind, draw, log_uniform_blocks
from fp8core.scales import E8M0_EVEN, E8M0_FLOOR, E8M0_ROUND_UP, FP32_SCALE, saturated_share

E4M3 = FORMATS["e4m3"]
RULES = [FP32_SCALE, E8M0_FLOOR, E8M0_EVEN, E8M0_ROUND_UP]
ELEMENTS = ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1"]


@pytest.mark.parametrize("name", ["e4m3", "hif8", "mxint8", "e2m1", "bf16"])
def test_a_sweep_has_the_parts_that_each_scale_has_by_itself(name) -> None:
    format_, scales = FORMATS[name], np.exp2(np.arange(-14.0, 8.0, 0.75))
    x = np.ldexp(draw(InputKind.GRADIENT_LIKE, (8, 128), seed=3).ravel().astype(np.float64), 18)
    x[::50] = 0.0
    swept = sweep_scale(x, format_, scales)
    for i, scale in enumerate(scales):
        one = split_error(x, format_.decode(format_.encode(x / scale)) * scale, scale, format_)
        for part in ("saturation", "deadzone", "grid"):
            assert getattr(swept, part)[i] == pytest.approx(getattr(one, part), rel=1e-9, abs=1e-30)
        assert swept.saturated_share[i] * x.size == one.saturated
        assert swept.dead_share[i] * x.size == one.dead
        assert swept.total[i] == pytest.approx(one.total, rel=1e-9)
    assert swept.sqnr_db == pytest.approx(-10 * np.log10(swept.total))


@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.fit.name)
def test_the_share_a_rule_saturates_is_its_closed_form(rule, name) -> None:
    element = FORMATS[name]
    steps = 1 << 14
    amax = np.exp2((np.arange(steps) + 0.5) / steps * 3).astype(np.float32)
    lands = amax.astype(np.float64) / rule.scale(amax, element).astype(np.float64)
    beyond = np.mean(lands > element.max * (1 + 2.0**-22))
    assert beyond == pytest.approx(saturated_share(rule, element), abs=4 / steps)


def test_log_uniform_blocks_fill_one_octave_evenly() -> None:
    amax = np.abs(log_uniform_blocks(512, 32, seed=1)).max(axis=1).astype(np.float64)
    octave = np.sort(np.log2(amax)) * 512
    assert (np.floor(octave + 1e-3) >= np.arange(512)).all()
    assert (octave <= np.arange(1, 513) + 1e-3).all()


@pytest.mark.parametrize("kind", [k for k in SeriesKind if k not in RECORDED_SERIES])
def test_current_scaling_fits_every_step_and_wastes_nothing(kind) -> None:
    series = amax_series(kind, 300, seed=0)
    run = run_current(series, E4M3)
    assert not run.overflows.any()
    np.testing.assert_array_equal(run.headroom_bits(series), 0.0)
    np.testing.assert_array_equal(run.scale, series / E4M3.max)


def test_current_scaling_keeps_its_scale_where_amax_says_nothing() -> None:
    run = run_current([4.0, 0.0, math.inf, 2.0], E4M3)
    assert run.scale.tolist() == [4 / 448, 4 / 448, 4 / 448, 2 / 448]
    assert run.overflows.tolist() == [False, False, True, False]
    assert run.headroom_bits([4.0, 0.0, 4.0, 1.0]).tolist() == [0.0, math.inf, 0.0, 1.0]


def test_a_spike_overflows_once_and_is_remembered_for_the_history() -> None:
    amax = np.array([1.0, 1.0, 8.0, 1.0, 1.0, 1.0, 1.0])
    run = run_delayed(amax, E4M3, history=2)
    assert run.overflows.tolist() == [False, False, True, False, False, False, False]
    assert run.holds[1:].tolist() == [1.0, 1.0, 8.0, 8.0, 1.0, 1.0]


def test_a_margin_buys_headroom_and_drift_overflows_without_it() -> None:
    amax = 1.25 ** np.arange(30)
    assert run_delayed(amax, E4M3, history=16).overflows[1:].all()
    assert not run_delayed(amax, E4M3, history=16, margin=1).overflows[1:].any()


@pytest.mark.parametrize("broken", [0.0, np.inf, np.nan])
def test_an_unusable_amax_keeps_the_scale(broken) -> None:
    run = run_delayed([4.0, broken, 4.0, 4.0], E4M3, history=1)
    assert run.scale[2] == run.scale[1] == 4.0 / E4M3.max
    with pytest.raises(ValueError, match="at least 1, got 0"):
        run_delayed([1.0], E4M3, history=0)


@pytest.mark.parametrize("margin", [0, 4])
def test_no_scale_is_below_the_inverse_of_the_largest_float(margin) -> None:
    """Transformer Engine stores the inverse in fp32 and puts FLT_MAX where it is infinite."""
    flt_max = float(np.finfo(np.float32).max)
    tiny, last = 1e-44, 448 / flt_max / 2.0**margin
    amax = [tiny, tiny, last * (1 - 2.0**-20), last * (1 + 2.0**-20), 1.0]
    run = run_delayed(amax, E4M3, history=1, margin=margin)
    assert run.scale[1:4].tolist() == [1 / flt_max] * 3
    assert run.scale[4] == amax[3] * 2.0**margin / 448 > 1 / flt_max
    assert run.holds[1] == 448 / flt_max
    assert not run.overflows[:2].any()
    now = run_current([tiny, 1.0], E4M3)
    assert now.scale.tolist() == [1 / flt_max, 1 / 448]
    assert now.holds.tolist() == [448 / flt_max, 1.0]


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
    log2 = octaves(kind)
    for place, size in ((0, begin), (int(0.15 * STEPS), top), (STEPS, end)):
        near = log2[max(place - 20, 0) : place + 20]
        assert np.median(near) == pytest.approx(size, abs=SPREAD / 6)


def test_only_some_steps_spike_and_by_whole_octaves():
    steady, spiky = octaves(SeriesKind.STEADY), octaves(SeriesKind.SPIKES)
    assert np.abs(steady).max() < SPREAD
    high = spiky > SPIKE_OCTAVES[0] - SPREAD
    assert high.mean() == pytest.approx(SPIKE_CHANCE, rel=0.25)
    assert spiky.max() < SPIKE_OCTAVES[1] + SPREAD
