"""Contract: every captured output of a real tensor core is the model's, bit for bit; files survive a trip."""

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS, Evidence
from fp8core.experiments.dot_terms import OFFERED_TERMS, TermKind
from kernels.device import HOPPER
from kernels.paths import VECTORS
from kernels.probe.operations import (
    Captured,
    mismatches,
    operations,
    predict,
    read_machine,
    read_vectors,
    write_vectors,
)
from kernels.probe.sweep import ROWS, SWEPT, ProbeJob, sweep

FILES = sorted(VECTORS.glob("*.npz"))
"""The captured outputs of tensor cores that come with the app."""

OPERATIONS = {operation.name: operation for operation in operations()}


def test_vectors_are_shipped_small_and_say_what_captured_them() -> None:
    assert FILES
    for file in FILES:
        assert file.stat().st_size <= 1_000_000
        assert {"gpu", "date", "torch", "triton"} <= read_machine(file).keys()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize("name", OPERATIONS)
def test_the_model_is_the_silicon(file, name) -> None:
    captured = [one for one in read_vectors(file) if one.operation == name]
    assert captured
    for one in captured:
        bad = mismatches(one.d, predict(OPERATIONS[name], one.case))
        assert not bad.any(), one.case.title


def test_every_captured_unit_is_among_the_vectors() -> None:
    used = {operation.accumulator.fraction_bits for operation in OPERATIONS.values()}
    captured = {a.fraction_bits for a in ACCUMULATORS.values() if a.evidence is Evidence.CAPTURED}
    assert captured <= used


def test_a_file_survives_the_trip(tmp_path) -> None:
    one = next(read_vectors(FILES[0]))
    write_vectors(tmp_path / "x.npz", [one], {"gpu": "a GPU"})
    (again,) = read_vectors(tmp_path / "x.npz")
    assert isinstance(again, Captured)
    assert again.operation == one.operation
    assert again.case.title == one.case.title
    for mine, theirs in ((again.d, one.d), (again.case.a, one.case.a), (again.case.c, one.case.c)):
        np.testing.assert_array_equal(mine, theirs)
    assert read_machine(tmp_path / "x.npz") == {"gpu": "a GPU"}


def job(operation: str = "wgmma", terms: TermKind = TermKind.SAME_SIGN) -> ProbeJob:
    return ProbeJob(operation=operation, terms=terms, format="e4m3", seed=1, longest=512)


def run_sweep(of: ProbeJob, run, stopped=lambda: False):
    notes = []
    row = sweep(of, run, HOPPER, lambda fraction, note: notes.append((fraction, note)), stopped)
    return row, notes


@pytest.mark.parametrize("terms", OFFERED_TERMS, ids=lambda kind: kind.value)
@pytest.mark.parametrize("operation", SWEPT)
def test_a_device_that_is_the_model_differs_nowhere(operation, terms):
    of = job(operation, terms)
    row, notes = run_sweep(of, lambda case: predict(of.operation_data, case))
    assert row.mismatches == 0
    assert row.first_difference == ""
    assert row.outputs == len(of.lengths) * ROWS[0] * ROWS[1]
    assert notes[-1] == (1.0, "done")
    assert row.machine.name == HOPPER.name


def test_a_device_that_differs_in_one_bit_is_told():
    of = job()

    def run(case):
        result = predict(of.operation_data, case)
        if case.a.shape[1] == 256:
            result[3, 5] = np.nextafter(result[3, 5], np.float32(np.inf))
        return result

    row, _ = run_sweep(of, run)
    assert row.mismatches == 1
    assert row.first_difference.startswith("K = 256, [3, 5]: model ")
