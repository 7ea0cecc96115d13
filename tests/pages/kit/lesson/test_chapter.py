"""A chapter's file: read as it stands, or refused in a sentence that names file, step and field."""

import pytest

from pages.kit.lesson.chapter import Kind, Option, Prediction, read_chapter
from tests.pages.kit.lesson.chapters import written

WRONG = {
    "no title": (('title = "Scales"', ""), "required field `title`"),
    "long": (("minutes = 9", "minutes = 13"), "`minutes`: Expected `int` <= 12"),
    "typo": (('do = "Look', 'doo = 1\ndo = "Look'), "step 1: Object contains unknown field `doo`"),
    "empty": (('title = "One"', 'title = " "'), "step 1, `title`: Expected `str` of length >= 1"),
    "setting": (("scaling_log2 = 1", "scaling_log2 = {}"), "step 2, `set"),
    "words": (('text = "Text."', f'text = "{"a b. " * 41}"'), "step 2, `text`: it has 82 words, and 80"),
    "sentence": (("Text.\"", f"{'a ' * 26}.\""), "step 2, `text`: the sentence “a a a a a a …”"),
    "figure": (('text = "Text."', 'text = "It is 43 %."'), "step 2, `text`: the figure '43 %'"),
    "kind": (('kind = "choice"', 'kind = "guess"'), "step 2, `predict.kind`: Invalid enum value 'guess'"),
    "one option": ((', { say = "Many", from = 0.5 }', ""), "step 2, `predict`: a choice needs 2 or more"),
    "no bounds": ((", below = 0.5", ""), "step 2, `predict.options[0]`: an option needs `from`, `below`"),
    "word and bound": (("from = 0.5 }", 'from = 0.5, is = "x" }'), "options[1]`: an option needs `from`"),
    "empty range": (("from = 0.5 }", "from = 0.5, below = 0.5 }"), "`below` needs more than `from`, 0.5"),
    "twice": (('say = "Many"', 'say = "Few"'), "no two that say the same"),
    "empty axis": (("high = 100", "high = 1"), "step 3, `predict`: `high` needs more than `low`, 1, got 1"),
    "log of zero": (("low = 1\n", "low = 0\n"), "an axis needs `low` and `high`, both above 0 with `log`"),
    "no factor": (("close_factor = 2", ""), "give either `close`"),
    "both": (("close_factor = 2", "close_factor = 2\nclose = 1"), "give either `close`"),
    "below 1": (("close_factor = 2", "close_factor = 0.9"), "`predict.close_factor`: Expected `float` >= 1"),
    "no axis": (("low = 1\n", ""), "an axis needs `low` and `high`"),
    "no TOML": (("minutes = 9", "minutes = "), "Invalid value (at line 3"),
}  # fmt: skip


def test_a_chapter_is_read(tmp_path):
    chapter, _ = read_chapter(written(tmp_path))
    assert (chapter.name, chapter.title, chapter.minutes, len(chapter.steps)) == ("scaling", "Scales", 9, 3)
    choice, axis = (step.predict for step in chapter.steps[1:])
    assert [(option.say, option.low, option.high) for option in choice.options] == [
        ("Few", None, 0.5),
        ("Many", 0.5, None),
    ]
    assert (axis.kind, axis.low, axis.high, axis.is_log, axis.close_factor) == (Kind.AXIS, 1, 100, True, 2)


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_in_one_sentence(tmp_path, change, message):
    chapter, (sentence,) = read_chapter(written(tmp_path, change))
    assert chapter is None
    assert message in sentence
    assert sentence.startswith("03_scaling.toml")


def test_two_steps_are_no_chapter_and_a_file_has_a_number(tmp_path):
    (tmp_path / "04_few.toml").write_text('title = "T"\nminutes = 1\nsteps = []', encoding="utf-8")
    assert read_chapter(tmp_path / "04_few.toml")[1] == [
        "04_few.toml, `steps`: Expected `array` of length >= 3."
    ]
    assert "is named as 03_scaling.toml" in read_chapter(written(tmp_path, name="few.toml"))[1][0]


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
    predict = asked(Kind.NUMBER, **fields)
    assert [answer for answer in [*right, *wrong] if predict.is_right(answer, truth)] == right


def test_a_choice_is_right_where_its_option_holds():
    number = asked(Kind.CHOICE, options=(Option(say="few", high=0.5), Option(say="many", low=0.5)))
    assert [number.is_right(say, 0.5) for say in ("few", "many", "some")] == [False, True, False]
    word = asked(
        Kind.CHOICE, options=(Option(say="too large", word="overflow"), Option(say="0", word="zero"))
    )
    assert [word.is_right(say, "overflow") for say in ("too large", "0")] == [True, False]
