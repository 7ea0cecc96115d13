"""Contract: a report in words loses no line, and what a machine says in it stays text."""

from dataclasses import replace

import pytest

from kernels.check.report import Group, Line, Verdict
from pages.kit.inert import plain
from pages.sanity_check import words
from pages.sanity_check.history import Past
from tests.kernels.check.reports import H200, NO_GPU, NO_TORCH
from tests.pages.sanity.reports import report, so_far


def line(name: str, verdict: Verdict, detail: str = "As it is.", group: Group = Group.GEMMS) -> Line:
    return Line(name=name, group=group, verdict=verdict, detail=detail)


def test_every_line_is_in_the_checklist_and_in_the_details():
    whole = report(failed=["mxfp8 wgrad"], share=0.5)
    shown = words.details(whole)
    assert [one.name for one in whole.lines if plain(one.name) not in shown] == []
    lines = tuple(line(name, Verdict.PASS) for name in ("a fprop", "copy", "b_1 fprop", "a wgrad", "wgrad"))
    assert (
        words.checklist(replace(whole, lines=lines))
        .splitlines()[-1]
        .endswith("| copy, wgrad · fprop: a, b\\_1 · wgrad: a |")
    )


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_has_its_word_beside_its_color(verdict):
    assert verdict.value in words.badge(verdict)
    shown = words.checklist(replace(report(), lines=(line("a", verdict),)))
    assert f"| {words.badge(verdict)} | a |" in shown


def test_lines_to_come_are_told_from_those_that_were_not_run():
    shown = words.checklist(so_far(report(), 5))
    assert "to come" in shown
    assert "not run" not in shown


def test_the_gravest_lines_of_a_question_come_first():
    lines = tuple(line(verdict.name, verdict) for verdict in Verdict)
    shown = words.checklist(replace(report(), lines=lines))
    order = ["FAIL", "SLOW", "NOT\\_RUN", "NOT\\_SUPPORTED", "PASS"]
    assert sorted(order, key=shown.index) == order


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
    lines = (line("a", Verdict.FAIL, hostile),)
    whole = replace(report(), lines=lines)
    rows = words.details(whole).splitlines()
    assert len(rows) == 3
    escaped = rows[-1].removeprefix(f"| {words.badge(Verdict.FAIL)} | a | ").removesuffix(" |")
    bare = escaped.replace("\\", "").replace("\N{WORD JOINER}", "") if "\\" not in hostile else escaped
    assert bare == " ".join(hostile.split())
    unescaped = [c for at, c in enumerate(escaped) if c in "|`*$:<[#~" and escaped[at - 1] != "\\"]
    assert unescaped == []


def test_lines_that_failed_alike_share_a_sentence_and_many_are_cut():
    alike = replace(report(), lines=tuple(line(name, Verdict.FAIL, "Alike.") for name in "abc"))
    assert words.troubles(alike) == [f"{words.badge(Verdict.FAIL)} **a, b, c**: Alike."]
    many = replace(report(), lines=tuple(line(name, Verdict.FAIL, f"Of {name}.") for name in "abcdefghij"))
    told = words.troubles(many)
    assert len(told) == 7
    assert "4 more" in told[-1]


def test_of_slow_lines_the_slowest_is_told_in_full():
    whole = report(share=0.5)
    slow = [one for one in whole.lines if one.verdict is Verdict.SLOW]
    (told,) = words.troubles(whole)
    assert f"the slowest of {len(slow)}" in told
    assert "power-capped at 450 W" in told
    slower = [one for one in report(share=0.4).lines if one.verdict is Verdict.SLOW][-1]
    (told,) = words.troubles(replace(whole, lines=(slow[0], slower, slow[1])))
    assert f"**{plain(slower.name)}**, the slowest of 3" in told
    only = replace(whole, lines=(slow[0],))
    assert "the slowest" not in words.troubles(only)[0]
    assert words.troubles(report()) == []


def test_a_verdict_without_a_gpu_has_its_reason_once():
    told = words.verdict(Past(number=1, report=report(NO_GPU)))
    assert told.count("There is no NVIDIA GPU here") == 1
    assert words.verdict(Past(number=1, report=report(H200))).endswith("pass**.")
    assert words.verdict(Past(number=1, report=report(NO_TORCH))).endswith("**1 fail**, 1 not supported.")


def test_a_check_in_the_list_has_number_verdict_extent_and_date():
    told = words.label(Past(number=7, report=report(quick=True)))
    for part in ("7.", "✓", "FP8 works on this GPU", "quick", "2026-11-20 11\\:30 UTC"):
        assert part in told
