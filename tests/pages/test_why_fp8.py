"""The page "Why FP8": every section opens with a picture and a notice, whatever is chosen."""

import re

import pytest

from kernels.measure.peak_rates import PEAK_RATES
from pages.kit.lesson.facts import fact
from pages.why_fp8.charts.sliders import LINES
from pages.why_fp8.controls import SHOW
from tests.pages.specs import sent_dataset
from tests.pages.texts import notice, texts

PAGE = "pages/why_fp8.py"
ENDS = {
    "rates": [{"why_unit": "bf16"}, {"why_unit": "first"}],
    "bound": [{"why_tokens": "0", "why_gpu": "b200_sxm"}, {"why_tokens": "17", "why_gpu": "a100_sxm_80_gb"}],
    "memory": [
        {"why_moment": "inference", "why_tokens": "0"},
        {"why_moment": "backward", "why_weights": "none"},
        {"why_moment": "cache", "why_model": "llama2_7b", "why_context": "20", "why_batch": "1024"},
        {"why_moment": "cache", "why_context": "7"},
    ],
    "scaled": [{"why_context": "20", "why_model": "llama2_7b"}, {"why_model": "own"}],
    "history": [{"why_loss_scale": "30"}],
}


@pytest.mark.parametrize("part", SHOW.options)
def test_a_section_has_one_picture_and_one_notice(open_app, part):
    for address in ({}, *ENDS[part]):
        at = open_app(PAGE, why_show=part, **address)
        assert len(at.get("vega_lite_chart")) == 1
        words = notice(at)
        assert re.search(r"\d", words)
        assert len(words.split()) <= 25


@pytest.mark.parametrize(
    ("part", "address", "words"),
    [
        ("bound", {"why_tokens": "0"}, "With 1 token, memory is the limit: fp8 is at most"),
        ("bound", {"why_tokens": "12"}, "With 4,096 tokens, the tensor cores are the limit: fp8 is at most"),
        ("bound", {"why_gpu": "a100_sxm_80_gb"}, "A100 SXM 80 GB has no fp8 tensor cores."),
        ("memory", {"why_moment": "inference"}, "In inference, with w and y all counted"),
    ],
)
def test_a_notice_follows_what_is_chosen(open_app, part, address, words):
    assert words in notice(open_app(PAGE, why_show=part, **address))


def test_every_card_s_rates_have_a_source(open_app):
    links = {source.url for one in PEAK_RATES.values() for source in one.sources}
    words = texts(open_app(PAGE, why_show="rates"))
    assert all(f"({link})" in words for link in links)


def test_the_bend_is_drawn_only_once_it_was_predicted(open_app):
    turn = fact("why_fp8.turn_tokens", {})
    for parameters, is_drawn in (({"why_tokens": "4", "lesson": "why.2"}, False), ({}, True)):
        chart = open_app(PAGE, **parameters).get("vega_lite_chart")[0]
        assert (max(sent_dataset(chart, LINES)["tokens"]) > turn) is is_drawn
