"""Contract: everything that the page "Why FP8" does not compute has a source, and its sizes hang together."""

from dataclasses import fields
from urllib.parse import urlparse

import pytest

from pages.why_fp8.scaled import operations
from pages.why_fp8.sourced import Contents, sourced

ENTRIES = {
    f"{part.name}-{number}": entry
    for part in fields(Contents)
    for entries in [getattr(sourced(), part.name)]
    for number, entry in enumerate(entries.values() if isinstance(entries, dict) else entries)
}
BILLIONS = {"llama31_8b": 8.0, "llama31_70b": 70.6, "llama2_7b": 6.7}  # weights as their authors round them


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_an_entry_has_a_source_its_address_and_its_date(entry):
    assert len(entry.source) > 8
    assert urlparse(entry.url).scheme == "https"
    assert 2015 <= int(entry.date[:4]) <= 2026


@pytest.mark.parametrize("name", sourced().models)
def test_a_models_sizes_make_its_published_number_of_weights(name):
    model = sourced().models[name]
    assert model.parameters / 1e9 == pytest.approx(BILLIONS[name], rel=0.01)
    assert model.heads * model.head_dim == model.width


def test_every_part_with_work_is_counted_and_every_count_has_a_part():
    works = [part.work for part in sourced().parts if part.work]
    assert sorted(works) == sorted(operations(next(iter(sourced().models.values())), 1024))
    assert {part.format for part in sourced().parts} == {"fp8", "bf16", "fp32"}


def test_the_way_goes_from_sixteen_bits_to_four():
    bits = [event.bits for event in sourced().events]
    assert (bits[0], bits[-1]) == (16, 4)
    assert [e.date for e in sourced().events] == sorted(e.date for e in sourced().events)
