"""Contract: times become rates, ratios to bf16 and shares of what is recorded; what torch or a plan refuses
is said. The timing itself needs a GPU.
"""

from math import prod

import pytest

from kernels.bench.ceilings.limits import Limits
from kernels.check import speed
from kernels.check.names import BF16, COPY, FP8
from kernels.check.reading import Reading
from kernels.check.report import Verdict
from kernels.device import INTERPRETER
from tests.kernels.cases import ON_GPU
from tests.kernels.check.reports import H200

SMALL = (64, 96, 128)
interpreted_only = pytest.mark.skipif(ON_GPU, reason="it looks at what the interpreter gives")


def torch_lines():
    """All that the step of torch's operations gives, ours taking turns with it."""
    job = speed.speed_job("rowwise", "fprop")
    yield speed.time_copy(H200, INTERPRETER, "")
    timed = speed.take_turns(job, {"first": job}, INTERPRETER, "", with_fp8=True)
    yield from speed.torch_lines(job, timed, H200, INTERPRETER)
    yield from speed.recipe_lines({"first": job}, timed, H200, INTERPRETER)


def flop():
    return 2 * prod(SMALL)


@interpreted_only
def test_torch_s_ops_and_ours_take_the_same_turns(monkeypatch, tmp_path):
    turns = []
    monkeypatch.setattr(speed, "RECORDS", tmp_path)

    def timed(contenders, uuid):
        turns.append([contender.name for contender in contenders])
        return {name: 1.0 + place for place, name in enumerate(turns[-1])}, Reading(clock_mhz=1500.0)

    monkeypatch.setattr(speed, "timed", timed)
    monkeypatch.setattr(speed, "CHECKED", SMALL)
    monkeypatch.setattr(speed, "COPY_BYTES", 1 << 10)
    monkeypatch.setattr(speed, "_fp8_launches", lambda operands: [lambda: None])
    found = {line.name: line for line in torch_lines()}
    assert turns == [[COPY], [BF16, FP8, "first"]], "a copy leaves the card cool"
    bf16 = f"times the bf16 of the same turns ({flop() / 1e6:,.0f} TFLOP/s)"
    assert f"0.50 {bf16}" in found[FP8].detail
    assert f"0.33 {bf16}" in found["first"].detail
    assert found[BF16].detail.startswith(f"{flop() / 1e6:,.0f} TFLOP/s;"), "so the lines agree"


@interpreted_only
@pytest.mark.parametrize("fast", [COPY, BF16, FP8, "first"])
def test_what_is_faster_than_the_gpu_can_be_fails(monkeypatch, tmp_path, fast):
    """As of a graph that nothing was captured into; where it is bf16, no ratio to it is right."""
    limits = Limits(bf16_tflop_s=1e-3, tflop_s=2e-3, memory_gb_s=1.0, source="this test")
    monkeypatch.setattr(speed, "limits_of", lambda device: limits)
    slow = 2.0 * flop()
    times = {COPY: 1e4, BF16: slow, FP8: slow, "first": slow}

    def lines(times):
        timed = speed.Timed(times=times, refused={}, reading=Reading())
        monkeypatch.setattr(speed, "take_turns", lambda *jobs, with_fp8: timed)
        monkeypatch.setattr(speed, "timed", lambda contenders, uuid: (times, Reading()))
        return torch_lines()

    monkeypatch.setattr(speed, "CHECKED", SMALL)
    monkeypatch.setattr(speed, "COPY_BYTES", 1 << 10)
    monkeypatch.setattr(speed, "RECORDS", tmp_path)
    assert Verdict.FAIL not in {line.verdict for line in lines(times)}
    found = lines({**times, fast: 1e-3})
    failed = {line.name: line.detail for line in found if line.verdict is Verdict.FAIL}
    assert failed.keys() == ({BF16, FP8, "first"} if fast == BF16 else {fast})
    assert "more than this GPU can do" in failed[fast]
