"""Contract: a delayed scale knows only earlier steps; error parts add up to the whole; floor's saturation
share is its closed form.
"""

import numpy as np
import pytest

from fp8core.errors import rel_err, shrinkage, split_error
from fp8core.experiments.delayed_scaling import AmaxChoice, run_current, run_delayed
from fp8core.formats import FORMATS
from fp8core.inputs import LAWS, draw
from fp8core.quantize import quantize
from fp8core.recipes import OperandSpec
from fp8core.scales import E8M0_EVEN, E8M0_FLOOR, E8M0_ROUND_UP, FP32_SCALE
from fp8core.tiles import TileGrid, TileShape

E4M3 = FORMATS["e4m3"]


def test_a_spike_overflows_once_and_is_remembered_for_the_history() -> None:
    amax = np.array([1.0, 1.0, 8.0, 1.0, 1.0, 1.0, 1.0])
    run = run_delayed(amax, E4M3, history=2)
    assert run.overflows.tolist() == [False, False, True, False, False, False, False]
    assert run.holds[1:].tolist() == [1.0, 1.0, 8.0, 8.0, 1.0, 1.0]
    recent = run_delayed(amax, E4M3, history=2, choice=AmaxChoice.MOST_RECENT)
    assert recent.holds[1:].tolist() == [1.0, 1.0, 8.0, 1.0, 1.0, 1.0]


def test_a_margin_buys_headroom_and_drift_overflows_without_it() -> None:
    amax = 1.25 ** np.arange(30)
    assert run_delayed(amax, E4M3, history=16).overflows[1:].all()
    assert not run_delayed(amax, E4M3, history=16, margin=1).overflows[1:].any()


@pytest.mark.parametrize("broken", [0.0, np.inf, np.nan])
def test_an_unusable_amax_keeps_the_scale(broken) -> None:
    run = run_delayed([4.0, broken, 4.0, 4.0], E4M3, history=1)
    assert run.scale[2] == run.scale[1] == 4.0 / E4M3.max
    with pytest.raises(ValueError, match="at least 1 step, got 0"):
        run_delayed([1.0], E4M3, history=0)


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("rule", [FP32_SCALE, E8M0_FLOOR, E8M0_EVEN, E8M0_ROUND_UP], ids=lambda r: r.fit.name)
def test_error_parts_add_up_to_the_squared_relative_error(kind, rule) -> None:
    x = draw(kind, (64, 256), seed=1)
    spec = OperandSpec(format=FORMATS["e2m1"], tile=TileShape(1, 32), scale_rule=rule)
    quantized = quantize(x, TileGrid.over(x.shape, (1, 32)), spec)
    values = quantized.exact_values()
    parts = split_error(x, values, quantized.grid.expand(quantized.scale), spec.format)
    assert parts.total == pytest.approx(rel_err(values, x) ** 2, rel=1e-9)
    assert (parts.saturated > 0) == (rule is E8M0_FLOOR)
    assert parts.dead > 0
    with pytest.raises(ValueError, match="all-zero"):
        split_error(np.zeros(3), np.zeros(3), 1.0, E4M3)


@pytest.mark.parametrize(("name", "recorded"), [("e4m3", 0.168), ("e2m1", 0.298)])
def test_the_recorded_saturation_shares_of_gaussian_blocks(name, recorded) -> None:
    amax = np.abs(np.random.default_rng(0).standard_normal((200_000, 32), dtype=np.float32)).max(axis=1)
    share = np.mean(amax > FORMATS[name].max * E8M0_FLOOR.scale(amax, FORMATS[name]).astype(np.float64))
    assert share == pytest.approx(recorded, abs=0.005)


def test_even_is_floor_of_amax_rounded_to_the_mantissa() -> None:
    amax = np.array([1.9374, 1.9375, 1.93751, 1.75, 3.9, 2.0], np.float32)
    exponents = np.log2(E8M0_EVEN.scale(amax, E4M3)).tolist()
    assert exponents == [-8.0, -7.0, -7.0, -8.0, -6.0, -7.0]


def test_e2m1_shrinks_gaussian_blocks_by_about_the_recorded_amounts() -> None:
    """Recorded: -0.0163 steps, alpha 0.9965, scale unstated; exact and E4M3 scales differ by 0.001."""
    x = np.random.default_rng(0).standard_normal((50_000, 16)).astype(np.float32)
    spec = OperandSpec(format=FORMATS["e2m1"], tile=TileShape(1, 16), scale_rule=FP32_SCALE)
    quantized = quantize(x, TileGrid.over(x.shape, (1, 16)), spec)
    values = quantized.values()
    assert shrinkage(x, values) == pytest.approx(0.9965, abs=0.001)
    steps = (np.abs(values) - np.abs(x)) / quantized.scale
    assert float(np.mean(steps)) == pytest.approx(-0.0163, abs=0.001)


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


def test_a_number_that_saturates_only_on_one_side_is_counted_on_that_side() -> None:
    mxint8 = FORMATS["mxint8"]
    x = np.array([-1.995, 1.995])
    parts = split_error(x, mxint8.decode(mxint8.encode(x)), 1.0, mxint8)
    assert parts.saturated == 1
