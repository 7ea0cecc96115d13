"""Contract: the glossary has the words of this house and of the field, and each leads to what shows it."""

import re
from pathlib import Path

from pages.kit.terms.explain import glossary
from tests.pages.addresses import refused

HOUSE = """
fprop, dgrad, wgrad, operand, K, axis, tile, block, scale, amax, code, format, dtype, recipe,
accumulator, promotion, summation, kernel variant, plan, reference, launcher, measurement, splits, rounds,
queue, add_to_out, scale_rule, stretch, refolding
"""
FIELD = """
e4m3, e5m2, fnuz, E8M0, ue8m0, fp22, subnormal, binade, ulp, saturate, underflow, overflow,
deadzone, SQNR, Hadamard, RHT, dithering, stochastic rounding, dynamic scaling, delayed scaling,
crest factor, loss scaling, per-tensor, per-row, per-channel, per-token, per-group, block-wise,
tensor-wise, row-wise, group-wise, MX, NVFP4, two-level scales, RCEIL, GEMM, roofline, PTQ,
compute-bound, MXINT8, fast accumulation, tensor core, wgmma, QGMMA, warp specialization, swizzle,
master weights
"""
TERMS = [*glossary().values()]


def test_every_word_of_the_house_and_of_the_field_is_there():
    words = " ".join(f"{HOUSE.strip()}, {FIELD}".split()).split(", ")
    names = {name.casefold() for term in TERMS for name in term.every_name}
    assert [name for name in words if name.casefold() not in names] == []


def test_a_file_that_a_source_names_is_there():
    top = Path(__file__).resolve().parents[4]
    files = {name for term in TERMS for name in re.findall(r"\b(?:fp8core|kernels)/[\w/]+\.py", term.source)}
    assert files
    assert {name for name in files if not (top / name).is_file()} == set()


def test_every_link_opens_what_it_says():
    wrong = {term.slug: refused(term.page, term.controls) for term in TERMS}
    assert {slug: why for slug, why in wrong.items() if why} == {}


def test_a_name_is_there_once_and_a_sentence_is_short():
    names = [name.casefold() for term in TERMS for name in term.every_name]
    assert sorted(set(names)) == sorted(names)
    says = {term.slug: term.says for term in TERMS}
    assert {slug: text for slug, text in says.items() if len(text.split()) > 25 or text[-1] != "."} == {}
    assert glossary()["shrinkage"].params["recipes"] == "nvfp4,mxfp4"
