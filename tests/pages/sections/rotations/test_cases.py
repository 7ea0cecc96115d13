"""The words on what a rotation does to an error."""

from types import SimpleNamespace

from pages.sections.rotations.cases import change
from pages.sections.rotations.cost import notice, table
from pages.sections.rotations.data import Cost
from pages.sections.rotations.error import notice as error_notice
from pages.sections.rotations.vector import notice as vector_notice


def test_an_error_of_fp32_alone_is_no_change():
    assert change(5e-16, 1.2e-15) == "zero both ways"
    assert change(0.1, 0.01) == "10 times smaller"
    assert change(0.01, 0.02) == "2 times larger"
    assert change(5e-16, 0.02) == "no longer zero"


def test_nothing_is_a_multiple_of_an_error_of_fp32_alone():
    rows = (
        Cost(format="hif8", plain=4e-16, rotated=6e-16, carried=2.9e-6),
        Cost(format="e4m3", plain=1e-3, rotated=6e-4, carried=5e-4),
        Cost(format="e2m1", plain=1e-2, rotated=1e-3, carried=1e-3),
        Cost(format="e5m2", plain=1e-2, rotated=1e-3, carried=1e-3),
    )
    told = notice(2.9e-6, rows)
    assert "changes the error of e4m3 most, by −16.67%" in told
    assert "a gain in e4m3, e2m1 and e5m2 and a loss in the others" in told
    assert "It changes" not in notice(2.9e-6, rows[:1])
    assert "| hif8 | 0 | 0 | 2.9e-06 | – | loss,\N{NO-BREAK SPACE}from zero |" in table(rows)


def test_an_error_of_fp32_alone_neither_grows_nor_shrinks():
    def told(before: float, after: float) -> str:
        sides = SimpleNamespace(nmse=before, zeros=0.9), SimpleNamespace(nmse=after, zeros=0.0)
        return error_notice(16, *sides, "hif8")

    assert told(0.0, 6e-16).endswith("and the total error is zero both ways.")
    assert told(5e-16, 1e-3).endswith("but the total error grows: 0 to 0.001.")


def test_a_largest_entry_that_stays_is_no_times_smaller():
    chosen = SimpleNamespace(size=16, format="e2m1")
    assert "from 128 to 128, as large as it was." in vector_notice(chosen, 128.0, 128.0, 8, 2)
    assert "from 16 to 4, 4.0 times smaller." in vector_notice(chosen, 16.0, 4.0, 8, 2)
