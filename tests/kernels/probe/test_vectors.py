"""Contract: every captured output of a real tensor core is the model's, bit for bit; files survive a trip."""

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS, Evidence
from kernels.probe.operations import mismatches, operations, predict
from kernels.probe.vectors import Captured, read_machine, read_vectors, write_vectors
from tests.kernels.probe.shipped import FILES

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


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_another_model_is_told_apart(file) -> None:
    """The vectors would catch a model with one fraction bit more or fewer, or another step."""
    from dataclasses import replace

    fast = OPERATIONS["wgmma"]
    ones = [one for one in read_vectors(file) if one.operation == "wgmma"]
    for change in ({"fraction_bits": 12}, {"fraction_bits": 14}, {"fused_products": 16}):
        other = replace(fast, accumulator=replace(fast.accumulator, **change))
        assert sum(int(mismatches(one.d, predict(other, one.case)).sum()) for one in ones) > 1000


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
