"""Contract: ceilings survive JSON and the record, and what are none is refused in a sentence."""

import pytest

from kernels.bench.ceilings import COPY_BYTES, MATMUL_SIDE, CeilingsJob
from kernels.bench.ceilings.limits import Impossible
from kernels.bench.ceilings.measure import ceilings_of, measure
from kernels.bench.records import record, recorded_ceilings, recorded_rows
from kernels.bench.timing import Load
from kernels.device import HOPPER
from tests.kernels.bench.made_up import CEILINGS


def test_ceilings_are_recorded_beside_the_rows_and_not_among_them(tmp_path):
    assert recorded_ceilings(tmp_path) == ()
    assert record(CEILINGS, tmp_path) == record(CEILINGS, tmp_path) == tmp_path / "ceilings" / "a_gpu.jsonl"
    assert recorded_ceilings(tmp_path) == (CEILINGS, CEILINGS)
    assert recorded_rows(tmp_path) == ()


class StandIn:
    """A turn that always takes as long."""

    def __init__(self, name, us):
        self.name, self._us = name, us

    def times_us(self):
        return [self._us]

    def load(self):
        return Load(1400.0 if self.name == "fp8" else 1700.0, 700.0)


def test_rates_are_what_is_moved_and_multiplied_over_the_time():
    turns = [StandIn("copy", 500.0), StandIn("bf16", 1600.0), StandIn("fp8", 880.0)]
    found = ceilings_of(CeilingsJob(runs=3), turns, HOPPER, "", lambda done: None)
    assert found.copy_gb_s.median == pytest.approx(2 * COPY_BYTES / 500e-6 / 1e9)
    assert found.bf16_tflop_s.median == pytest.approx(2 * MATMUL_SIDE**3 / 1600e-6 / 1e12)
    assert (found.fp8_tflop_s.clock_mhz, found.bf16_tflop_s.clock_mhz) == (1400.0, 1700.0)
    assert found.machine.name == HOPPER.name
    without = ceilings_of(CeilingsJob(runs=3), turns[:2], HOPPER, "no op", lambda done: None)
    assert (without.fp8_tflop_s, without.fp8_note) == (None, "no op")


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
    assert found.copy_gb_s.median > 100
    assert found.bf16_tflop_s.median > 10
    assert found.fp8_note or found.fp8_tflop_s.median > found.bf16_tflop_s.median
