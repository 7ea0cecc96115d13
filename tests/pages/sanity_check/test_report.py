"""A report in words loses no line, what a machine says in it stays text, and its speed is drawn to scale."""

from dataclasses import replace

import pytest

from fp8core.recipes import RECIPES
from kernels.check.report import Group, Line, Verdict
from pages.kit.charts.ink import INKS, LIGHT
from pages.kit.inert import plain
from pages.kit.lesson.facts import fact
from pages.sanity_check.charts.shares import shares_chart
from pages.sanity_check.facts import label
from pages.sanity_check.history import Past
from pages.sanity_check.report import badge, checklist, details, troubles, verdict
from tests.kernels.check.reports import H200, NO_GPU, NO_TORCH
from tests.pages.sanity_check.reports import report, so_far
from tests.pages.specs import dataset

SLOW_BELOW = 0.85


def line(name: str, verdict: Verdict, detail: str = "As it is.", group: Group = Group.GEMMS) -> Line:
    return Line(name=name, group=group, verdict=verdict, detail=detail)


def bar(name: str, share: float) -> dict[str, object]:
    rates = {"rate": "900 TFLOP/s", "recorded": "1,000 TFLOP/s"}
    return {"name": name, "share": share, **rates, "source": "NVIDIA H200, today"}


def test_every_line_is_in_the_checklist_and_in_the_details():
    whole = report(failed=["mxfp8 wgrad"], share=0.5)
    shown = details(whole)
    assert [one.name for one in whole.lines if plain(one.name) not in shown] == []
    lines = tuple(line(name, Verdict.PASS) for name in ("a fprop", "copy", "b_1 fprop", "a wgrad", "wgrad"))
    (last,) = checklist(replace(whole, lines=lines)).splitlines()[-1:]
    assert last.endswith("| copy, wgrad · fprop: a, b\\_1 · wgrad: a |")


def test_every_verdict_has_its_word_and_the_gravest_lines_come_first():
    lines = tuple(line(verdict.name, verdict) for verdict in Verdict)
    shown = checklist(replace(report(), lines=lines))
    for one in Verdict:
        assert one.value in badge(one)
        assert f"| {badge(one)} | {plain(one.name)} |" in shown
    order = ["FAIL", "SLOW", "NOT\\_RUN", "NOT\\_SUPPORTED", "PASS"]
    assert sorted(order, key=shown.index) == order


def test_lines_to_come_are_not_those_that_were_not_run():
    shown = checklist(so_far(report(), 5))
    assert "to come" in shown
    assert "not run" not in shown


@pytest.mark.parametrize(
    "hostile",
    [
        "a | b",
        "`code` **bold** $x^2$",
        ":red[x] :material/home:",
        "<b>",
        "[a](b)",
        "two\nlines",
        "# head",
        "~~a~~",
    ],
)
def test_what_a_machine_says_is_no_markup(hostile):
    rows = details(replace(report(), lines=(line("a", Verdict.FAIL, hostile),))).splitlines()
    assert len(rows) == 3
    escaped = rows[-1].removeprefix(f"| {badge(Verdict.FAIL)} | a | ").removesuffix(" |")
    assert escaped.replace("\\", "").replace("\N{WORD JOINER}", "") == " ".join(hostile.split())
    unescaped = [c for at, c in enumerate(escaped) if c in "|`*$:<[#~" and escaped[at - 1] != "\\"]
    assert unescaped == []


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
    shown = label(Past(number=7, report=report(quick=True)))
    for part in ("7.", "✓", "FP8 works on this GPU", "quick", "2026-11-20 11\\:30 UTC"):
        assert part in shown


def test_a_check_covers_every_recipe_and_each_of_three_matmuls():
    assert fact("sanity_check.recipes", {"check": "quick"}) == len(RECIPES)
    assert fact("sanity_check.matmuls", {}) == 3


@pytest.mark.parametrize("ink", INKS.values(), ids=INKS)
def test_bars_keep_their_order_and_what_is_slow_is_slow(ink):
    spec = shares_chart([bar("z", 1.02), bar("a", 0.85), bar("m", 0.849)], SLOW_BELOW, ink)
    drawn = dataset(spec, "bars")
    assert (drawn["name"], drawn["verdict"]) == (["z", "a", "m"], ["normal", "normal", "slow"])
    encoding = spec["layer"][0]["encoding"]
    assert encoding["y"]["scale"]["domain"] == ["z", "a", "m"]
    assert encoding["color"]["scale"]["range"] == [ink.scale, ink.lost]


@pytest.mark.parametrize(("share", "top"), [(0.2, 1.2), (1.0, 1.2), (3.0, 3.3)])
def test_rules_stand_at_the_record_and_where_slow_begins_and_the_axis_holds_every_bar(share, top):
    spec = shares_chart([bar("a", share)], SLOW_BELOW, LIGHT)
    rules = [one["data"]["values"][0] for one in spec["layer"] if one["mark"]["type"] == "rule"]
    assert rules == [{"at": 1.0, "name": "record"}, {"at": SLOW_BELOW, "name": "slow below 85%"}]
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == [0, pytest.approx(top)]
