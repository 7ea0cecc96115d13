"""What the first reader computes is there for the second."""

from pages.kit.lesson import facts, prepare
from pages.kit.lesson.library import library
from tests.pages.kit.lesson.chapters import written


def test_every_fact_of_every_step_is_computed_once(tmp_path, monkeypatch):
    told: list[str] = []
    written(tmp_path, ("{scaling.largest:g}", "{scaling.nothing}"))
    monkeypatch.setattr(prepare, "library", lambda: library(tmp_path))
    known_facts = facts.facts_of("scaling").facts
    for name in ("zeros_share", "sqnr_db", "amax_sqnr_db"):
        known = known_facts[name]
        monkeypatch.setitem(
            known_facts, name, lambda at, name=name, known=known: told.append(name) or known(at)
        )
    monkeypatch.setattr(facts, "_computed", facts._computed.__wrapped__)
    prepare.compute_every_fact()
    assert told == ["zeros_share", "sqnr_db", "amax_sqnr_db", "zeros_share"]
