"""Every chapter holds: its pages, settings and facts exist, and exactly one option is the truth."""

import pytest

from pages.kit.lesson.check import complaints_about, main
from tests.pages.kit.lesson.chapters import FILES, written

WRONG = {
    "page": (('page = "scaling"', 'page = "scalng"'), "step 1, `page`: there is no page 'scalng'."),
    "control": (("scaling_log2 = 1", "log2 = 1"), "step 2, `set`: 'log2' is no control of scaling; it has"),
    "value": (("gradient_like", "gradients"), "step 3, `then`: scaling_input got 'gradients' and needs one"),
    "fact": (("{scaling.largest:g}", "{scaling.big:g}"), "step 1, `text`: scaling.big is no fact; scaling"),
    "format": (("{scaling.largest:g}", "{scaling.largest:d}"), "step 1, `text`: {scaling.largest:d} does"),
    "braces": (("{scaling.largest:g}", "{largest}"), "step 1, `text`: {largest} names no fact"),
    "stranger": (("{scaling.largest:g}", "{nowhere.big}"), "there is no page 'nowhere'."),
    "overlap": (("from = 0.5", "from = 0.0"), "step 2, `options`: exactly one must hold for truth = 0.0"),
    "none": (("below = 0.5", "below = 0.0"), "and none holds."),
    "outside": (("high = 100", "high = 2"), "step 3, `low`: truth = 31.2459 is outside of `low` to `high`."),
    "told": (('text = "Text."', 'text = "{scaling.zeros_share:g}"'), "`text`: it tells scaling.zeros_share"),
    "early": (('text = "Text."', 'text = "{truth:g}"'), "`text`: {truth} is known only in `reveal`."),
    "after": (("after = []", 'after = ["floats"]'), "`after`: no file before this one has the chapter"),
}  # fmt: skip


def test_every_chapter_of_the_lesson_holds():
    assert [line for path in FILES for line in complaints_about(path)] == []


@pytest.mark.parametrize(("change", "part"), WRONG.values(), ids=WRONG)
def test_what_the_pages_do_not_know_is_told_in_one_sentence(tmp_path, change, part):
    (sentence,) = complaints_about(written(tmp_path, change))
    assert sentence.startswith("03_scaling.toml, ")
    assert part in sentence


def test_the_command_says_which_files_are_right(tmp_path, capsys):
    good = written(tmp_path)
    bad = written(tmp_path, ('page = "scaling"', 'page = "none"'), name="04_more.toml")
    assert main([str(good)]) == 0
    assert main([str(good), str(bad)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "03_scaling.toml: all well.",
        "03_scaling.toml: all well.",
        "04_more.toml, step 1, `page`: there is no page 'none'.",
    ]
