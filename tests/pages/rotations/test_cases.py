"""The words on what a rotation does to an error."""

from types import SimpleNamespace

from pages.rotations.cases import change
from pages.rotations.error import notice as error_notice
from pages.rotations.vector import notice as vector_notice


def test_an_error_of_fp32_alone_is_no_change():
    assert change(5e-16, 1.2e-15) == "zero both ways"
    assert change(0.1, 0.01) == "10 times smaller"
    assert change(0.01, 0.02) == "2 times larger"
    assert change(5e-16, 0.02) == "no longer zero"


def test_an_error_of_fp32_alone_neither_grows_nor_shrinks():
    sides = SimpleNamespace(nmse=0.0, zeros=0.9), SimpleNamespace(nmse=6e-16, zeros=0.0)
    assert "the error **zero both ways.**" in error_notice(16, *sides)


def test_zeros_agree_with_their_verb():
    chosen = SimpleNamespace(size=16, format="e2m1")
    assert vector_notice(chosen, 8, 2).endswith("Rotated, 2 do.")
    assert vector_notice(chosen, 8, 0).endswith("Rotated, none does.")
