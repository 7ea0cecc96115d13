"""Contract: what nvidia-smi prints becomes numbers and phrases, what it does not know becomes None, and a
missing, failing or hanging nvidia-smi is no error.
"""

import time

import pytest

from kernels.check import smi
from kernels.check.smi import Reading, Watch, ask, held_by, number, query, read, reasons_field


def test_rows_are_cells_of_the_fields_asked_for():
    asked = []

    def answer(arguments):
        asked.append(list(arguments))
        return "GPU-1, 580.65, 345\nGPU-2, 580.65, [N/A]\nERROR: something\n"

    assert query(["driver_version", "clocks.sm"], answer, "GPU-1") == [["580.65", "345"], ["580.65", "[N/A]"]]
    assert asked == [["--query-gpu=uuid,driver_version,clocks.sm", smi._FORMAT, "--id=GPU-1"]]
    assert query(["clocks.sm"], lambda arguments: "") == []


@pytest.mark.parametrize("fields", [["driver_version"], ["driver_version", "clocks.sm"]])
@pytest.mark.parametrize("said", ["No devices were found", "Unable to reach the driver, so nothing, ever"])
def test_what_nvidia_smi_says_of_no_gpu_is_no_row(said, fields):
    assert query(fields, lambda arguments: f"{said}\n") == []


def test_what_is_no_number_is_none():
    assert [number(text) for text in ("345", "75.5", "[N/A]", "")] == [345.0, 75.5, None, None]


def test_the_name_of_the_reasons_is_this_driver_s():
    def old(arguments):
        return "GPU-1, 0x0\n" if "throttle" in arguments[0] else "Field clocks_event_reasons is not valid\n"

    assert reasons_field(lambda arguments: "GPU-1, 0x4\n") == "clocks_event_reasons.active"
    assert reasons_field(old) == "clocks_throttle_reasons.active"
    assert reasons_field(lambda arguments: "") == ""


@pytest.mark.parametrize(
    ("mask", "limit", "phrase"),
    [
        (0x0, 700.0, ""),
        (0x1, 700.0, ""),
        (0x4, 450.0, "power-capped at 450 W"),
        (0x4, None, "power-capped"),
        (0x20, None, "too hot"),
        (0x48, None, "too hot and slowed by the hardware"),
        (0x80 | 0x4, 700.0, "held by the server's power brake and power-capped at 700 W"),
        (0x2, None, "clocks fixed by a setting"),
        (0x10, None, "held to the clock of another GPU"),
    ],
)
def test_each_reason_is_a_phrase(mask, limit, phrase):
    assert held_by(mask, limit) == phrase


def test_a_reading_is_the_moment_of_highest_power_and_every_reason():
    output = "345, 75.0, 450.0, 0x1\n1100, 449.0, 450.0, 0x4\n1980, 200.0, 450.0, 0x0\nhalf a li"
    assert read(output) == Reading(
        clock_mhz=1100.0, power_w=449.0, power_limit_w=450.0, held_by="power-capped at 450 W"
    )


def test_what_the_driver_does_not_tell_stays_unknown():
    assert read("") == Reading()
    assert read("1100, [N/A], [N/A]\n") == Reading(clock_mhz=1100.0)
    assert read("1100, [N/A], [N/A], [Unknown Error]\n") == Reading(clock_mhz=1100.0)


def program(tmp_path, monkeypatch, body: str) -> None:
    path = tmp_path / "nvidia-smi"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


def test_a_watch_reads_until_its_block_ends(tmp_path, monkeypatch):
    loop = "while :; do echo '1200, 500.0, 500.0, 0x4'; sleep 0.01; done"
    program(tmp_path, monkeypatch, f'case "$*" in *loop*) {loop};; *) echo GPU-1, 0x0;; esac')
    with Watch("GPU-1") as watch:
        assert watch.reading == Reading()
        time.sleep(0.2)
    assert watch.reading.clock_mhz == 1200.0
    assert watch.reading.held_by == "power-capped at 500 W"


def test_without_a_working_nvidia_smi_nothing_is_known(tmp_path, monkeypatch):
    program(tmp_path, monkeypatch, "echo 5; exit 9")
    assert ask(["-L"]) == ""
    with Watch("") as watch:
        pass
    assert watch.reading == Reading()
    monkeypatch.setenv("PATH", "/nonexistent")
    assert ask(["-L"]) == ""
    with Watch("") as watch:
        pass
    assert watch.reading == Reading()


def test_a_hanging_nvidia_smi_is_given_up(tmp_path, monkeypatch):
    program(tmp_path, monkeypatch, "exec sleep 30")
    monkeypatch.setattr(smi, "_TIMEOUT_S", 0.1)
    assert ask(["-L"]) == ""
