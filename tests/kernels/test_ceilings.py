"""Contract: ceilings survive JSON and the record, and what are none is refused in a sentence."""

import json

import pytest

from kernels.ceilings import Ceiling, Ceilings, CeilingsJob
from kernels.machine import Machine
from kernels.records import record, recorded_ceilings, recorded_rows

CEILINGS = Ceilings(
    job=CeilingsJob(runs=5),
    machine=Machine(name="A GPU", capability=(9, 0), versions={"torch": "1"}),
    date="2026-11-20",
    copy_gb_s=Ceiling(median=4000.0, p20=3990.0, p80=4010.0, runs=5, clock_mhz=1980.0, power_w=400.0),
    bf16_tflop_s=Ceiling(median=650.0, p20=640.0, p80=660.0, runs=5),
    fp8_tflop_s=Ceiling(median=1250.0, p20=1240.0, p80=1260.0, runs=5),
)


@pytest.mark.parametrize("has_fp8", [True, False])
def test_ceilings_survive_json(has_fp8):
    fields = vars(CEILINGS) | ({} if has_fp8 else {"fp8_tflop_s": None, "fp8_note": "no op"})
    found = Ceilings(**fields)
    assert Ceilings.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_ceilings_are_recorded_beside_the_rows_and_not_among_them(tmp_path):
    assert recorded_ceilings(tmp_path) == ()
    assert record(CEILINGS, tmp_path) == record(CEILINGS, tmp_path) == tmp_path / "ceilings" / "a_gpu.jsonl"
    assert recorded_ceilings(tmp_path) == (CEILINGS, CEILINGS)
    assert recorded_rows(tmp_path) == ()


@pytest.mark.parametrize("line", ["{", "{}", '{"job": {"runs": 5}, "machine": 3}'])
def test_a_bad_line_is_named(tmp_path, line):
    path = record(CEILINGS, tmp_path)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(ValueError, match=r"^a_gpu\.jsonl, line 2: ."):
        recorded_ceilings(tmp_path)


@pytest.mark.parametrize("data", [{"runs": 0}, {"runs": 1001}, {"runs": True}, {"runs": 5, "color": "red"}])
def test_what_is_no_job_is_refused(data):
    with pytest.raises(ValueError, match="runs"):
        CeilingsJob.from_dict(data)
