"""Contract: ceilings survive JSON and the record, and what are none is refused in a sentence."""

import json

import pytest

from kernels.bench.ceilings import COPY_BYTES, MATMUL_SIDE, Ceilings, CeilingsJob
from kernels.bench.ceilings.limits import Impossible
from kernels.bench.ceilings.measure import ceilings_of, measure
from kernels.bench.records import record, recorded_ceilings, recorded_rows
from kernels.bench.timing import Load
from kernels.device import HOPPER, Unsupported
from kernels.typed import from_data, to_data
from tests.kernels.bench.made_up import CEILINGS
from tests.kernels.cases import ON_GPU


@pytest.mark.parametrize("has_fp8", [True, False])
def test_ceilings_survive_json(has_fp8):
    fields = vars(CEILINGS) | ({} if has_fp8 else {"fp8_tflop_s": None, "fp8_note": "no op"})
    found = Ceilings(**fields)
    assert from_data(Ceilings, json.loads(json.dumps(to_data(found)))) == found


def test_ceilings_are_recorded_beside_the_rows_and_not_among_them(tmp_path):
    assert recorded_ceilings(tmp_path) == ()
    assert record(CEILINGS, tmp_path) == record(CEILINGS, tmp_path) == tmp_path / "ceilings" / "a_gpu.jsonl"
    assert recorded_ceilings(tmp_path) == (CEILINGS, CEILINGS)
    assert recorded_rows(tmp_path) == ()


@pytest.mark.parametrize("data", [{"runs": 0}, {"runs": 1001}, {"runs": True}, {"runs": 5, "color": "red"}])
def test_what_is_no_job_is_refused(data):
    with pytest.raises(ValueError, match=r"runs|unknown field `color`"):
        from_data(CeilingsJob, data)


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


def test_a_rate_s_percentiles_are_in_order():
    times = iter([500.0, 600.0, 700.0])
    copy = StandIn("copy", 0.0)
    copy.times_us = lambda: [next(times)]
    rate = ceilings_of(CeilingsJob(runs=3), [copy, StandIn("bf16", 1600.0)], HOPPER, "", lambda done: None)
    assert rate.copy_gb_s.p20 < rate.copy_gb_s.median < rate.copy_gb_s.p80


@pytest.mark.parametrize("name", ["copy", "bf16", "fp8"])
def test_a_ceiling_above_the_datasheet_is_a_fault(name):
    """As of a graph that nothing was captured into, whose replay takes microseconds."""
    us = {"copy": 500.0, "bf16": 1600.0, "fp8": 880.0, name: 10.0}
    turns = [StandIn(*each) for each in us.items()]
    with pytest.raises(Impossible, match=f"^{name}.*more than this GPU can do .*datasheet of the H200 SXM"):
        ceilings_of(CeilingsJob(runs=3), turns, HOPPER, "", lambda done: None)


@pytest.mark.skipif(ON_GPU, reason="there is a GPU")
def test_without_a_gpu_there_are_no_ceilings():
    with pytest.raises(Unsupported, match="ceilings are a GPU's, and this is Triton interpreter: nothing"):
        measure(CeilingsJob(), progress=lambda *step: None, stopped=lambda: False)


@pytest.mark.alone
@pytest.mark.gpu
def test_a_gpu_has_ceilings():
    found = measure(CeilingsJob(runs=1), progress=lambda *step: None, stopped=lambda: False)
    assert found.copy_gb_s.median > 100
    assert found.bf16_tflop_s.median > 10
    assert found.fp8_note or found.fp8_tflop_s.median > found.bf16_tflop_s.median
