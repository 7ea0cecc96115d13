"""A format that is entered in the registry is offered by every control that its kind of number fits."""

import runpy
from dataclasses import replace
from pathlib import Path

import pytest

from fp8core.accumulators import ACCUMULATORS
from fp8core.formats import FORMATS

PAGES = Path(__file__).parents[3] / "pages"
NEW = "e3m4_new"
CONTROLS = {
    "stochastic_rounding": ("PIXELS", "FORMAT", "WEIGHT"),
    "scaling": ("FORMAT", "ELEMENT"),
    "rotations": ("FORMAT",),
    "accumulation": ("OPERANDS",),
    "formats": ("FORMAT", "COMPARED", "OVERFLOWING"),
}
LISTS = [(page, name) for page, names in CONTROLS.items() for name in names]


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more format, and a matrix unit that multiplies it."""
    monkeypatch.setitem(FORMATS, NEW, replace(FORMATS["e3m4_ieee"], name=NEW))
    unit = ACCUMULATORS["blackwell_fp8"]
    monkeypatch.setitem(ACCUMULATORS, unit.name, replace(unit, operands=(*unit.operands, NEW)))


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(("page", "name"), LISTS, ids=lambda part: part)
def test_a_new_format_is_on_every_page(page, name):
    control = runpy.run_path(str(PAGES / page / "controls.py"))[name]
    assert NEW in control.options
