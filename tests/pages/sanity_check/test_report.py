"""A report in words loses no line, what a machine says in it stays text, and its speed is drawn to scale."""

from dataclasses import replace

import pytest

from kernels.check.report import Group, Line, Verdict
from pages.kit.charts.bars import PARTS
from pages.kit.charts.ink import INKS
from pages.kit.inert import plain
from pages.sanity_check.facts import label
from pages.sanity_check.history import Past
from pages.sanity_check.report import badge, details, speed_chart, troubles, verdict
from tests.kernels.check.reports import H200, NO_GPU, NO_TORCH
from tests.pages.sanity_check.reports import report
from tests.pages.specs import rows


def line(name: str, verdict: Verdict, detail: str = "As it is.", group: Group = Group.GEMMS) -> Line:
    return Line(name=name, group=group, verdict=verdict, detail=detail)


def test_every_line_is_in_the_details_with_its_verdict():
    whole = report(failed=["mxfp8 wgrad"], share=0.5)
    lines = details(whole).splitlines()
    rows = {f"| {badge(one.verdict)} | {plain(one.name)} | {plain(one.detail)} |" for one in whole.lines}
    assert rows == set(lines[2:])


@pytest.mark.parametrize("ink", INKS.values(), ids=INKS)
def test_bars_are_shares_of_the_record_and_what_is_slow_is_slow(ink):
    lines = [one for one in report(share=0.5).lines + report().lines if one.share is not None]
    bars = rows(speed_chart(lines, ink), PARTS)
    assert [one["share"] for one in bars] == [one.share for one in lines]
    assert {(round(one["share"], 3), one["color"], "slow" in one["words"]) for one in bars} == {
        (0.5, ink.lost, True),
        (0.97, ink.dot, False),
    }
    first = lines[0]
    assert bars[0]["words"] == f"50% of {first.reference.value:,.0f} {first.figures[0].unit}, slow"


def test_lines_that_failed_alike_share_a_sentence_and_many_are_cut():
    alike = replace(report(), lines=tuple(line(name, Verdict.FAIL, "Alike.") for name in "abc"))
    assert troubles(alike) == [f"{badge(Verdict.FAIL)} **a, b, c**: Alike."]
    many = replace(report(), lines=tuple(line(name, Verdict.FAIL, f"Of {name}.") for name in "abcdefghij"))
    sentences = troubles(many)
    assert len(sentences) == 7
    assert "4 more" in sentences[-1]


def test_of_slow_lines_the_slowest_is_told_in_full():
    whole = report(share=0.5)
    slow = [one for one in whole.lines if one.verdict is Verdict.SLOW]
    (sentence,) = troubles(whole)
    assert f"the slowest of {len(slow)}" in sentence
    assert "power-capped at 450 W" in sentence
    slower = [one for one in report(share=0.4).lines if one.verdict is Verdict.SLOW][-1]
    (sentence,) = troubles(replace(whole, lines=(slow[0], slower, slow[1])))
    assert f"**{plain(slower.name)}**, the slowest of 3" in sentence
    assert "the slowest" not in troubles(replace(whole, lines=(slow[0],)))[0]
    assert troubles(report()) == []


def test_a_verdict_without_a_gpu_has_its_reason_once():
    assert verdict(Past(number=1, report=report(NO_GPU))).count("There is no NVIDIA GPU here") == 1
    assert verdict(Past(number=1, report=report(H200))).endswith("pass**.")
    assert verdict(Past(number=1, report=report(NO_TORCH))).endswith("**1 fail**, 1 not supported.")


def test_a_check_in_the_list_has_number_verdict_extent_and_date():
    words = label(Past(number=7, report=report(quick=True)))
    for part in ("7.", "✓", "FP8 works on this GPU", "quick", "2026-11-20 11\\:30 UTC"):
        assert part in words
