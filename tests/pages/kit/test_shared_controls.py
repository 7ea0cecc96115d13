"""A format that is entered in the registry is offered by every control that its kind of number fits."""

import runpy
from dataclasses import replace

import pytest

from fp8core.accumulators import ACCUMULATORS
from fp8core.formats import FORMATS
from pages.kit.widgets import Control
from tests.pages.conftest import TOP

NEW = "e3m4_new"
CALL = "format_options("
FILES = [
    path
    for path in sorted((TOP / "pages").glob("*/*.py"))
    if path.parent.name != "kit" and CALL in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_new_format_is_on_every_page(path, monkeypatch):
    monkeypatch.setitem(FORMATS, NEW, replace(FORMATS["e3m4_ieee"], name=NEW))
    unit = ACCUMULATORS["blackwell_fp8"]
    monkeypatch.setitem(ACCUMULATORS, unit.name, replace(unit, operands=(*unit.operands, NEW)))
    controls = [one for one in runpy.run_path(str(path)).values() if isinstance(one, Control)]
    offers = [one.key for one in controls if NEW in getattr(one, "options", ())]
    assert len(FILES) >= 5
    assert len(offers) >= path.read_text(encoding="utf-8").count(CALL)
