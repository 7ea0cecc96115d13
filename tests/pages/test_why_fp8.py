"""The page "Why FP8": every section opens with a picture and a notice, whatever is chosen."""

import re

import pytest

from pages.kit.lesson.facts import fact
from pages.why_fp8.charts.limits import LINES
from pages.why_fp8.controls import SHOW
from tests.pages.specs import sent_dataset
from tests.pages.texts import notice

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


@pytest.mark.parametrize("part", SHOW.options)
def test_a_section_has_one_picture_and_one_notice(open_app, part):
    for chosen in ({}, *ENDS[part]):
        at = open_app(PAGE, why_show=part, **chosen)
        assert len(at.get("vega_lite_chart")) == 1
        told = notice(at)
        assert re.search(r"\d", told)
        assert len(told.split()) <= 25


def test_an_impossible_address_opens_the_page(open_app):
    at = open_app(PAGE, why_show="memory", why_tokens="99", why_in="3", why_unit="miles")
    assert not at.exception
    assert len(at.warning) == 1


@pytest.mark.parametrize(
    ("part", "chosen", "told"),
    [
        ("bound", {"why_tokens": "0"}, "With 1 token, memory is the limit."),
        ("bound", {"why_tokens": "12"}, "With 4,096 tokens, the tensor cores are the limit."),
        ("bound", {"why_gpu": "a100_sxm_80_gb"}, "A100 SXM 80 GB has no fp8 tensor cores."),
        ("memory", {"why_moment": "inference"}, "In inference, with w and y all counted"),
    ],
)
def test_a_notice_follows_what_is_chosen(open_app, part, chosen, told):
    assert told in notice(open_app(PAGE, why_show=part, **chosen))


def test_the_bend_is_drawn_only_once_it_was_predicted(open_app):
    at = open_app(PAGE, why_show="bound", why_tokens="4", lesson="why.2")
    tokens = sent_dataset(at.get("vega_lite_chart")[0], LINES)["tokens"]
    assert max(tokens) < fact("why.turn_tokens", {})
    tokens = sent_dataset(open_app(PAGE).get("vega_lite_chart")[0], LINES)["tokens"]
    assert max(tokens) > fact("why.turn_tokens", {})
