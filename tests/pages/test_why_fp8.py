"""The page "Why FP8": every section opens with a picture and a notice, whatever is chosen."""

import re

import pytest

from pages.sections.why.controls import SHOW

PAGE = "pages/why_fp8.py"
ENDS = {
    "rates": [{"why_unit": "bf16"}, {"why_unit": "first"}],
    "bound": [{"why_tokens": "0", "why_gpu": "b200_sxm"}, {"why_tokens": "17", "why_gpu": "a100_sxm_80_gb"}],
    "cache": [{"why_model": "own", "why_context": "20", "why_batch": "1024"}, {"why_context": "7"}],
    "memory": [
        {"why_moment": "inference", "why_tokens": "0"},
        {"why_moment": "backward", "why_weights": "none"},
    ],
    "scaled": [{"why_context": "20", "why_model": "llama2_7b"}, {"why_model": "own"}],
    "history": [{"why_loss_scale": "30"}],
}


def notices(at) -> list[str]:
    return [text.value for text in at.markdown if text.value.startswith("**Notice:**")]


@pytest.mark.parametrize("part", SHOW.options)
def test_a_section_has_one_picture_and_one_notice(open_app, part):
    for chosen in ({}, *ENDS[part]):
        at = open_app(PAGE, why_show=part, **chosen)
        assert not at.exception
        assert len(at.get("vega_lite_chart")) == 1
        (notice,) = notices(at)
        assert re.search(r"\d", notice)


def test_an_impossible_address_opens_the_page(open_app):
    at = open_app(PAGE, why_show="memory", why_tokens="99", why_in="3", why_unit="miles")
    assert not at.exception
    assert len(at.warning) == 1


@pytest.mark.parametrize(
    ("part", "chosen", "told"),
    [
        ("memory", {"why_tokens": "0"}, "with 1 token and a weight of"),
        ("memory", {"why_tokens": "0"}, "each of these 5 recipes takes more memory"),
        ("memory", {"why_moment": "inference"}, "none of these 5 recipes takes more memory"),
        ("memory", {}, "1 of these 5 recipes takes more memory than bf16, and 3 as much, within 1%"),
        ("cache", {"why_batch": "1"}, "With 8,192 tokens in one sequence, the cache"),
    ],
)
def test_a_count_agrees_with_its_noun_and_its_verb(open_app, part, chosen, told):
    assert told in notices(open_app(PAGE, why_show=part, **chosen))[0]
