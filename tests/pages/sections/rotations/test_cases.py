"""The words on what a rotation does to an error."""

from pages.sections.rotations.cases import change


def test_an_error_of_fp32_alone_is_no_change():
    assert change(5e-16, 1.2e-15) == "zero both ways"
    assert change(0.1, 0.01) == "10 times smaller"
    assert change(0.01, 0.02) == "2 times larger"
