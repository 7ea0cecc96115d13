"""Contract: a process has the cores that it may run on, and in a container no more than that has time on."""

import os

import pytest

from kernels.cores import cores

MANY = 1_000


@pytest.fixture(autouse=True)
def many_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(MANY)), raising=False)


@pytest.mark.parametrize(
    ("written", "count"),
    [
        ("200000 100000\n", 2),
        ("150000 100000\n", 2),
        ("1000 100000\n", 1),
        ("999999999 100000\n", MANY),
        ("max 100000\n", MANY),
        ("100000 0\n", MANY),
        ("words\n", MANY),
        ("", MANY),
    ],
)
def test_a_container_s_time_is_counted_in_cores(tmp_path, written, count):
    (tmp_path / "cpu.max").write_text(written)
    assert cores(tmp_path) == count


def test_without_a_container_there_are_those_that_a_process_may_run_on(tmp_path):
    assert cores(tmp_path) == MANY
