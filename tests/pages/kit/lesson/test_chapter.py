"""A chapter's file: read as it stands, or refused in a sentence that names file, step and field."""

import pytest

from pages.kit.lesson.chapter import Kind, Option, Prediction, read_chapter
from tests.pages.kit.lesson.chapters import written

WRONG = {
    "no title": (('title = "Scales"', ""), "03_scaling.toml, `title`", "missing"),
    "long": (("minutes = 9", "minutes = 13"), "03_scaling.toml, `minutes`", "1 to 12, got 13"),
    "type": (("minutes = 9", 'minutes = "9"'), "03_scaling.toml, `minutes`", "got '9'"),
    "typo": (('do = "Look', 'doo = 1\ndo = "Look'), "step 1, `doo`", "no field"),
    "empty": (('title = "One"', 'title = " "'), "step 1, `title`", "got ' '"),
    "setting": (("scaling_log2 = 1", "scaling_log2 = {}"), "step 2, `set`", "got {"),
    "words": (('text = "Text."', f'text = "{"a b. " * 41}"'), "step 2, `text`", "82 words, and 80"),
    "sentence": (('text = "Text."', f'text = "{"a " * 26}."'), "step 2, `text`", "27 words, 25"),
    "figure": (('text = "Text."', 'text = "It is 43 %."'), "step 2, `text`", "'43 %'"),
    "kind": (('kind = "choice"', 'kind = "guess"'), "step 2, predict, `kind`", "got 'guess'"),
    "one option": ((', { say = "Many", from = 0.5 }', ""), "step 2, predict, `options`", "2 or more"),
    "no bounds": ((", below = 0.5", ""), "step 2, predict, option 1, `say`", "`below`"),
    "word and bound": (("from = 0.5 }", 'from = 0.5, is = "x" }'), "predict, option 2, `say`", "alone"),
    "empty range": (("from = 0.5 }", "from = 0.5, below = 0.5 }"), "option 2, `below`", "0.5, got 0.5"),
    "twice": (('say = "Many"', 'say = "Few"'), "step 2, predict, `options`", "say the same"),
    "unit": (('kind = "choice"', 'kind = "choice"\nunit = "dB"'), "step 2, predict, `unit`", "no field"),
    "empty axis": (("high = 100", "high = 1"), "step 3, predict, `high`", "1, got 1"),
    "log of zero": (("low = 1\n", "low = 0\n"), "step 3, predict, `log`", "above 0"),
    "no factor": (("close_factor = 2", ""), "step 3, predict, `close`", "`close_factor`"),
    "both": (("close_factor = 2", "close_factor = 2\nclose = 1"), "step 3, predict, `close`", "either"),
    "below 1": (("close_factor = 2", "close_factor = 0.9"), "step 3, predict, `close_factor`", "got 0.9"),
    "below 0": (("close_factor = 2", "close = -1"), "step 3, predict, `close`", "got -1"),
    "no axis": (("low = 1\n", ""), "step 3, predict, `low`", "missing"),
    "no list": (("after = []", 'after = "floats"'), "`after`", "got 'floats'"),
    "no TOML": (("minutes = 9", "minutes = "), "03_scaling.toml", "Invalid value (at line 3"),
}  # fmt: skip


def test_a_chapter_is_read(tmp_path):
    chapter = read_chapter(written(tmp_path)).chapter
    assert (chapter.name, chapter.title, chapter.minutes, len(chapter.steps)) == ("scaling", "Scales", 9, 3)
    choice, axis = (step.predict for step in chapter.steps[1:])
    assert [(option.say, option.low, option.high) for option in choice.options] == [
        ("Few", None, 0.5),
        ("Many", 0.5, None),
    ]
    assert (axis.kind, axis.low, axis.high, axis.is_log, axis.close_factor) == (Kind.AXIS, 1, 100, True, 2)


@pytest.mark.parametrize(("change", "place", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_in_one_sentence(tmp_path, change, place, told):
    read = read_chapter(written(tmp_path, change))
    assert read.chapter is None
    (sentence,) = read.complaints
    assert place in sentence
    assert told in sentence
    assert sentence.startswith("03_scaling.toml")


def test_two_steps_are_no_chapter_and_a_file_has_a_number(tmp_path):
    (tmp_path / "04_few.toml").write_text('title = "T"\nminutes = 1\nsteps = []', encoding="utf-8")
    assert read_chapter(tmp_path / "04_few.toml").complaints == (
        "04_few.toml, `steps`: it needs 3 to 6 steps, got [].",
    )
    assert "is named as 03_scaling.toml" in read_chapter(written(tmp_path, name="few.toml")).complaints[0]


def asked(kind: Kind, **fields) -> Prediction:
    return Prediction(ask="?", kind=kind, truth="a.b", reveal="!", **fields)


@pytest.mark.parametrize(
    ("fields", "truth", "right", "wrong"),
    [
        ({"close": 2.0}, 10, ["8", "10", "12.0"], ["7.9", "12.1", "ten", "nan", ""]),
        ({"close_factor": 4.0}, 1024.0, ["256", "4096"], ["255", "4097", "-1024", "0"]),
        ({"close_factor": 4.0}, 0, ["0"], ["1"]),
        ({"close_factor": 2.0}, -8.0, ["-4", "-16"], ["8", "-17"]),
    ],
    ids=["difference", "factor", "factor of zero", "factor below zero"],
)
def test_a_number_is_right_when_it_is_near(fields, truth, right, wrong):
    predict = asked(Kind.AXIS, **fields)
    assert [answer for answer in [*right, *wrong] if predict.is_right(answer, truth)] == right


def test_a_choice_is_right_where_its_option_holds():
    number = asked(Kind.CHOICE, options=(Option(say="few", high=0.5), Option(say="many", low=0.5)))
    assert [number.is_right(say, 0.5) for say in ("few", "many", "some")] == [False, True, False]
    word = asked(
        Kind.CHOICE, options=(Option(say="too large", word="overflow"), Option(say="0", word="zero"))
    )
    assert [word.is_right(say, "overflow") for say in ("too large", "0")] == [True, False]
