"""Contract: the glossary has the words of this house and of the field, and each leads to what shows it."""

import pytest

from pages.kit.terms.glossary import glossary, read
from tests.pages.addresses import refused

HOUSE = """
fprop, dgrad, wgrad, operand, K, axis, tile, block, scale, amax, code, format, dtype, recipe,
accumulator, promotion, summation, body, plan, reference, launcher, measurement, splits, rounds,
ledger, add_to_out, scale_rule
"""
FIELD = """
e4m3, e5m2, fnuz, E8M0, ue8m0, fp22, subnormal, binade, ulp, saturate, underflow, overflow,
deadzone, SQNR, Hadamard, RHT, dithering, stochastic rounding, dynamic scaling, delayed scaling,
crest factor, loss scaling, per-tensor, per-row, per-channel, per-token, per-group, block-wise,
tensor-wise, row-wise, group-wise, MX, NVFP4, two-level scales, RCEIL, GEMM, roofline, PTQ,
compute-bound, MXINT8, fast accumulation, tensor core, wgmma, QGMMA, warp specialization, swizzle,
master weights
"""
TERMS = glossary().terms
ENTRY = """[[terms]]
term = "{term}"
names = [{names}]
says = "It is one."
page = "formats"
set = {{}}
source = "a paper"
"""


def test_every_word_of_the_house_and_of_the_field_is_there():
    wanted = " ".join(f"{HOUSE.strip()}, {FIELD}".split()).split(", ")
    assert [name for name in wanted if glossary().find(name) is None] == []


def test_every_link_opens_what_it_says():
    wrong = {term.slug: refused(term.page, term.controls) for term in TERMS}
    assert {slug: why for slug, why in wrong.items() if why} == {}


def test_other_names_and_any_case_find_a_term():
    assert glossary().find("UE8M0") is glossary().find("e8m0")
    assert glossary().find("nothing of the kind") is None
    assert len(glossary().by_slug) == len(TERMS)
    assert glossary().find("shrinkage").params["recipes"] == "nvfp4,mxfp4"


def test_a_search_takes_every_word_and_puts_names_first():
    terms = [term.term for term in glossary().search("scale RULE")]
    assert terms[0] == "scale rule"
    assert "RCEIL" in [term.term for term in glossary().search("power of two")]
    assert glossary().search("") == TERMS
    assert glossary().search("zebra") == ()


def test_a_wrong_file_is_refused_with_every_wrong_field(tmp_path):
    file = tmp_path / "words.toml"
    file.write_text('[[terms]]\nterm = "tile"\nsays = "no stop"\npage = 3\nset = {}\nsorce = "x"\n')
    with pytest.raises(ValueError, match=r"words\.toml is not as it should be") as refusal:
        read(file)
    lines = str(refusal.value).splitlines()[1:]
    assert [line.split(": ")[0] for line in lines] == ["term 1 (tile)"] * 4
    assert [line.split(": ")[1].split()[0] for line in lines] == ["says", "page", "source", "sorce"]


@pytest.mark.parametrize(
    ("first", "second"), [(("a", ""), ("A", "")), (("a", '"b"'), ("c", '"B"')), (("a", '"a"'), ("c", ""))]
)
def test_a_name_that_is_there_twice_is_refused(tmp_path, first, second):
    file = tmp_path / "words.toml"
    file.write_text("".join(ENTRY.format(term=term, names=names) for term, names in (first, second)))
    with pytest.raises(ValueError, match="is a name of a and of"):
        read(file)
