"""Contract: a sweep's parts are those of a direct computation; the share that a rule saturates is its closed
form; current scaling fits every step.
"""

import math

import ml_dtypes
import numpy as np
import pytest

from fp8core.errors import split_error
from fp8core.experiments.amax_series import DRIFT_OCTAVES, RECORDED_SERIES, SeriesKind, amax_series
from fp8core.experiments.delayed_scaling import run_current
from fp8core.experiments.scale_sweep import sweep_scale
from fp8core.formats import FORMATS
from fp8core.inputs import LAWS, InputKind, draw, log_uniform_blocks
from fp8core.scales import E8M0_EVEN, E8M0_FLOOR, E8M0_ROUND_UP, FP32_SCALE, saturated_share

E4M3 = FORMATS["e4m3"]
RULES = [FP32_SCALE, E8M0_FLOOR, E8M0_EVEN, E8M0_ROUND_UP]
ELEMENTS = ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1"]


@pytest.mark.parametrize("kind", LAWS)
def test_a_sweep_is_the_error_of_a_direct_cast(kind) -> None:
    x = draw(kind, (16, 128), seed=3).ravel()
    scales = np.exp2(np.arange(-30.0, 10.0, 3.0))
    swept = sweep_scale(x, E4M3, scales)
    for i, scale in enumerate(scales):
        given = x / np.float32(scale)
        cast = np.clip(given, -448, 448).astype(ml_dtypes.float8_e4m3fn).astype(np.float64) * scale
        error = float(np.sum((cast - x.astype(np.float64)) ** 2) / np.sum(x.astype(np.float64) ** 2))
        assert swept.total[i] == pytest.approx(error, rel=1e-9, abs=1e-30)
        assert swept.saturated_share[i] == np.mean(np.abs(given) > 464)
        assert swept.dead_share[i] == np.mean((np.abs(given) <= 2.0**-10) & (x != 0))
    assert swept.sqnr_db == pytest.approx(-10 * np.log10(swept.total))


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


def test_near_best_is_the_unbroken_stretch_around_the_best() -> None:
    x = draw(InputKind.GAUSSIAN, (8, 128), seed=0)
    swept = sweep_scale(x, E4M3, np.exp2(np.arange(-20.0, 12.0, 0.5)))
    first, last = swept.near_best(3.0)
    bar = swept.sqnr_db[swept.best] - 3.0
    assert 0 < first <= swept.best <= last < swept.scale.size - 1
    assert (swept.sqnr_db[first : last + 1] >= bar).all()
    assert swept.sqnr_db[first - 1] < bar
    assert swept.sqnr_db[last + 1] < bar


@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.fit.name)
def test_the_share_a_rule_saturates_is_its_closed_form(rule, name) -> None:
    element = FORMATS[name]
    steps = 1 << 14
    amax = np.exp2((np.arange(steps) + 0.5) / steps * 3).astype(np.float32)
    lands = amax.astype(np.float64) / rule.scale(amax, element).astype(np.float64)
    beyond = np.mean(lands > element.max * (1 + 2.0**-22))
    assert beyond == pytest.approx(saturated_share(rule, element), abs=4 / steps)


@pytest.mark.parametrize(("name", "recorded"), [("e4m3", 0.193), ("e2m1", 0.415), ("e2m3", 0.093)])
def test_floor_saturates_the_recorded_shares(name, recorded) -> None:
    assert saturated_share(E8M0_FLOOR, FORMATS[name]) == pytest.approx(recorded, abs=5e-4)


def test_log_uniform_blocks_fill_one_octave_evenly() -> None:
    amax = np.abs(log_uniform_blocks(512, 32, seed=1)).max(axis=1).astype(np.float64)
    octave = np.sort(np.log2(amax)) * 512
    assert (np.floor(octave + 1e-3) >= np.arange(512)).all()
    assert (octave <= np.arange(1, 513) + 1e-3).all()


@pytest.mark.parametrize("kind", [k for k in SeriesKind if k not in RECORDED_SERIES])
def test_a_series_is_positive_and_repeats_with_its_seed(kind) -> None:
    series = amax_series(kind, 200, seed=4)
    assert series.shape == (200,)
    assert (series > 0).all()
    np.testing.assert_array_equal(series, amax_series(kind, 200, seed=4))
    assert (series != amax_series(kind, 200, seed=5)).any()
    with pytest.raises(ValueError, match="at least 1 step, got 0"):
        amax_series(kind, 0, seed=0)


def test_drift_grows_by_what_it_says() -> None:
    ends = [np.log2(amax_series(SeriesKind.DRIFT, 2, seed)) for seed in range(500)]
    assert np.mean([last - first for first, last in ends]) == pytest.approx(DRIFT_OCTAVES, abs=0.05)


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
