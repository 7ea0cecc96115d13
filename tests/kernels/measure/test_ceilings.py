"""Contract: nothing is faster than a GPU's datasheet or than its clocks allow, nor recorded."""

import json
from dataclasses import replace
from urllib.parse import urlparse

import pytest

from kernels.device import HOPPER
from kernels.measure import records
from kernels.measure.ceilings import ceilings_of, measure
from kernels.measure.jobs import COPY_BYTES, MATMUL_SIDE, CeilingsJob
from kernels.measure.peak_rates import (
    PEAK_RATES,
    Impossible,
    Rate,
    datasheet_limits,
    limits_of,
    peak_rates_of,
)
from kernels.measure.rows import Peer
from kernels.nvml import Gauges
from kernels.typed import to_data
from tests.kernels.measure.made_up import DRAWN, ROW, ceilings, changed, quantizer_row, timing


class StandIn:
    """A turn that always takes as long."""

    def __init__(self, name, us):
        self.name, self._us = name, us

    def times_us(self):
        return [self._us]

    def load(self):
        return Gauges(clock_mhz=1400.0 if self.name == "fp8" else 1700.0, power_w=700.0)


def test_rates_are_what_is_moved_and_multiplied_over_the_time():
    turns = [StandIn("copy", 500.0), StandIn("bf16", 1600.0), StandIn("fp8", 880.0)]
    found = ceilings_of(CeilingsJob(runs=3), turns, HOPPER, "", lambda done: None)
    assert found.rate(Peer.COPY) == pytest.approx(2 * COPY_BYTES / 500e-6 / 1e9)
    assert found.rate(Peer.BF16) == pytest.approx(2 * MATMUL_SIDE**3 / 1600e-6 / 1e12)
    assert (found.times[Peer.FP8].clock_mhz, found.times[Peer.BF16].clock_mhz) == (1400.0, 1700.0)
    assert found.machine.name == HOPPER.name
    without = ceilings_of(CeilingsJob(runs=3), turns[:2], HOPPER, "no op", lambda done: None)
    assert (Peer.FP8 in without.times, without.note) == (False, "no op")


@pytest.mark.parametrize("name", ["copy", "bf16", "fp8"])
def test_a_ceiling_above_the_datasheet_is_a_fault(name):
    """As of a graph that nothing was captured into, whose replay takes microseconds."""
    us = {"copy": 500.0, "bf16": 1600.0, "fp8": 880.0, name: 10.0}
    turns = [StandIn(*each) for each in us.items()]
    with pytest.raises(Impossible, match=f"^{name}.*more than this GPU can do .*datasheet of the H200 SXM"):
        ceilings_of(CeilingsJob(runs=3), turns, HOPPER, "", lambda done: None)


@pytest.mark.alone
@pytest.mark.gpu
def test_a_gpu_has_ceilings():
    found = measure(CeilingsJob(runs=1), progress=lambda *step: None, stopped=lambda: False)
    assert found.rate(Peer.COPY) > 100
    assert found.rate(Peer.BF16) > 10
    assert found.note or found.rate(Peer.FP8) > found.rate(Peer.BF16)


H200 = datasheet_limits(HOPPER.name)
CARDS = {"A100 SXM 80 GB": (108, 1410), "L40S": (142, 2520), "H100 SXM": (132, 1980), "B200 SXM": (148, 1965)}
"""SMs and the highest clock in MHz, as nvidia-smi reads it."""


@pytest.mark.parametrize("name", CARDS)
def test_clocks_allow_what_the_datasheet_promises_and_little_more(name):
    rates, (sms, mhz) = PEAK_RATES[name], CARDS[name]
    card = replace(HOPPER, name="another", capability=rates.capability, sms=sms, clock_mhz=mhz)
    limits = limits_of(card)
    assert rates.tflop_s[Rate.BF16] <= 1.01 * limits.bf16_tflop_s <= 1.12 * rates.tflop_s[Rate.BF16]
    most = max(rate for rate in rates.tflop_s.values() if rate is not None)
    assert most <= 1.01 * limits.tflop_s <= 1.12 * most


def test_a_known_card_is_held_to_its_datasheet_whatever_its_clocks():
    limits = limits_of(replace(HOPPER, clock_mhz=99_000.0, memory_gb_s=99_000.0))
    assert limits == H200
    rates = peak_rates_of(HOPPER.name)
    assert not limits.fault(rates.tflop_s[Rate.FP8])
    assert "datasheet of the H200 SXM" in limits.fault(rates.tflop_s[Rate.FP8] + 1)
    assert limits.bf16_fault(rates.tflop_s[Rate.BF16] + 1)
    assert not limits.memory_fault(rates.memory_gb_s)
    assert limits.memory_fault(rates.memory_gb_s + 1)


ON_H200 = replace(ROW, machine=replace(ROW.machine, name=HOPPER.name))


@pytest.mark.parametrize(
    ("files", "wrong", "named"),
    [
        (records.GEMMS, changed(ON_H200, ours=timing(1e-3)), "ours: .*TFLOP/s"),
        (
            records.GEMMS,
            changed(ON_H200, bf16=timing(3e-2, op="bf16 torch.mm")),
            r"bf16 torch\.mm: .*TFLOP/s",
        ),
        (
            records.RANDOM_SHAPES,
            replace(changed(DRAWN, ours=timing(1e-3)), machine=ON_H200.machine),
            "ours: ",
        ),
        (records.QUANTIZERS, quantizer_row(us=1.0), "ours: .*GB/s"),
        (records.CEILINGS, ceilings(1.0, 1700.0, 880.0, machine=ON_H200.machine), "copy: .*GB/s"),
    ],
    ids=["row", "bf16", "draw", "quantizer", "ceilings"],
)
def test_what_no_gpu_reaches_is_neither_recorded_nor_read(files, wrong, named, tmp_path):
    with pytest.raises(Impossible, match=f"^{named}.*more than this GPU can do|^{named}"):
        files.record(wrong, tmp_path)
    assert not list(tmp_path.rglob("*.jsonl"))
    path = files.path(tmp_path, wrong.gpu)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(to_data(wrong)) + "\n")
    found = files.read(tmp_path)
    assert found.rows == ()
    (bad,) = found.bad
    assert (bad.file, bad.line) == ("nvidia_h200.jsonl", 1)
    assert "more than this GPU can do" in bad.reason


@pytest.mark.parametrize("rates", PEAK_RATES.values(), ids=PEAK_RATES)
def test_a_row_is_dense_complete_and_sourced(rates):
    assert set(rates.tflop_s) == set(Rate)
    sixteen = rates.tflop_s[Rate.BF16]
    assert rates.tflop_s[Rate.FP16] == sixteen
    assert rates.tflop_s[Rate.FP32] < sixteen
    fp8 = rates.tflop_s[Rate.FP8]
    assert (fp8 is not None) == (rates.capability >= (8, 9))
    assert fp8 is None or fp8 == pytest.approx(2 * sixteen, rel=0.02)
    fp4 = rates.tflop_s[Rate.FP4]
    assert (fp4 is not None) == (rates.capability >= (10, 0))
    assert fp4 is None or fp4 == pytest.approx(2 * fp8, rel=0.02)
    assert rates.sources
    for source in rates.sources:
        assert source.title
        assert urlparse(source.url).scheme == "https"
