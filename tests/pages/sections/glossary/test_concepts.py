"""Contract: every concept is shown somewhere, at an address that its page accepts."""

import pytest

from pages.kit.terms.glossary import params
from pages.sections.glossary.concepts import concepts, read
from tests.pages.addresses import refused

ASKED = """
Speed by generation, Ratios, Compute or bandwidth, KV cache, Footprint, Floats, Specials, Subnormals,
Range and precision, Overflow before underflow, what each does to a run, Loss scaling, Why not 8 bits of bf16,
What is scaled, Names of granularities, small tiles, Forward and backward consistency, rounding up,
Dynamic and delayed, Rotations, Hadamard, Numerical error, e4m3 and e5m2 in practice, Fast accumulation, fp22,
Forward and backward sums, Layouts, which copies, Dithering, E[round(x)] = x, noise and then nearest,
How many random bits, PTQ against int8, its −2, NaN in integers, MX against two-level scales, Calls in torchao
"""


def test_every_concept_that_was_asked_for_has_a_place():
    told = " · ".join(one.concept for one in concepts())
    assert [name for name in " ".join(ASKED.split()).split(", ") if name not in told] == []


def test_every_address_is_accepted_by_its_page():
    wrong = {one.concept: refused(one.page, one.controls) for one in concepts()}
    assert {concept: why for concept, why in wrong.items() if why} == {}


def test_no_concept_is_there_twice_and_subjects_stay_together():
    assert len({one.concept for one in concepts()}) == len(concepts())
    subjects = [one.about for one in concepts()]
    assert sorted(subjects, key=[*dict.fromkeys(subjects)].index) == subjects


def test_a_wrong_file_is_refused(tmp_path):
    file = tmp_path / "concepts.toml"
    file.write_text('[[concepts]]\nabout = "Why"\nconcept = "x"\nsays = "It is."\npage = "formats"\n')
    with pytest.raises(ValueError, match="concept 1: set is missing"):
        read(file)


def test_the_page_links_to_every_concept(open_app):
    at = open_app("pages/glossary.py", glossary="concepts")
    assert not at.exception
    links = [link.proto.query_string for link in at.get("page_link")]
    assert len(links) >= len(concepts())
    for one in concepts():
        assert any(all(key in link for key in params(one.controls)) for link in links), one.concept
