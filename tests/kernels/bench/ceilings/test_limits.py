"""Contract: nothing is faster than a GPU's datasheet, or than its clocks allow; what is, is neither recorded
nor read.
"""

import json
from dataclasses import replace

import pytest

from kernels.bench.ceilings.limits import Impossible, datasheet_limits, limits_of
from kernels.bench.ceilings.peak_rates import PEAK_RATES, Rate, peak_rates_of
from kernels.bench.machine import Timing
from kernels.bench.records import read_records, record
from kernels.device import BLACKWELL_RTX, HOPPER, INTERPRETER
from kernels.typed import to_data
from tests.kernels.bench.made_up import CEILINGS, ROW

H200 = datasheet_limits(HOPPER.name)
UNKNOWN = replace(HOPPER, name="NVIDIA H200 NVL", clock_mhz=1980.0, memory_gb_s=4800.0)
CARDS = {"A100 SXM 80 GB": (108, 1410), "L40S": (142, 2520), "H100 SXM": (132, 1980), "B200 SXM": (148, 1965)}
"""SMs and the highest clock in MHz, as nvidia-smi reads it."""


def timed(us):
    return Timing(median_us=us, p20_us=us, p80_us=us, runs=5)


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


@pytest.mark.parametrize(
    "device",
    [INTERPRETER, BLACKWELL_RTX, replace(UNKNOWN, capability=(77, 0), memory_gb_s=0.0)],
    ids=["no GPU", "no clock told", "a generation to come"],
)
def test_where_nothing_tells_there_is_no_limit(device):
    limits = limits_of(device)
    assert (limits.bf16_tflop_s, limits.tflop_s, limits.memory_gb_s) == (None, None, None)
    assert not limits.fault(1e12)


ON_H200 = replace(ROW, machine=replace(ROW.machine, name=HOPPER.name))


@pytest.mark.parametrize(
    "wrong",
    [
        replace(ON_H200, gemm=timed(1e-3)),
        replace(
            CEILINGS,
            machine=ON_H200.machine,
            copy_gb_s=replace(CEILINGS.copy_gb_s, median=626_996_677.0),
        ),
    ],
    ids=["row", "ceilings"],
)
def test_what_no_gpu_reaches_is_neither_recorded_nor_read(wrong, tmp_path):
    with pytest.raises(Impossible, match="more than this GPU can do"):
        record(wrong, tmp_path)
    assert not list(tmp_path.rglob("*.jsonl"))
    folder = tmp_path if hasattr(wrong, "gemm") else tmp_path / "ceilings"
    folder.mkdir(exist_ok=True)
    (folder / "nvidia_h200.jsonl").write_text(json.dumps(to_data(wrong)) + "\n")
    found = read_records(tmp_path)
    assert (found.rows, found.ceilings) == ((), ())
    (bad,) = found.bad
    assert (bad.file, bad.line) == ("nvidia_h200.jsonl", 1)
    assert "more than this GPU can do" in bad.reason
