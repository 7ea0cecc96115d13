"""A chapter's file: read as it stands, or refused in a sentence that names file, step and field."""

import pytest

from pages.kit.lesson.chapter import Kind
from pages.kit.lesson.reading import read_chapter
from tests.pages.kit.lesson.chapters import written

WRONG = {
    "no title": (('title = "Scales"', ""), "03_scaling.toml, `title`: it is missing."),
    "long": (("minutes = 9", "minutes = 13"), "03_scaling.toml, `minutes`: it needs 1 to 12, got 13."),
    "type": (("minutes = 9", 'minutes = "9"'), "`minutes`: it needs a whole number, got '9'."),
    "typo": (('do = "Look', 'doo = 1\ndo = "Look'), "03_scaling.toml, step 1, `doo`: there is no such field"),
    "words": (('text = "Text."', f'text = "{"a b. " * 41}"'), "step 2, `text`: it has 82 words, and 80"),
    "sentence": (('text = "Text."', f'text = "{"a " * 26}."'), "`text`: the sentence “a a a a a a …” has 27"),
    "figure": (('text = "Text."', 'text = "It is 43 %."'), "`text`: the figure '43 %' is typed in; name a"),
    "kind": (('kind = "choice"', 'kind = "guess"'), "step 2, predict, `kind`: it needs one of choice"),
    "one option": ((', { say = "Many", from = 0.5 }', ""), "`options`: a choice needs 2 or more, got 1."),
    "no bounds": ((", below = 0.5", ""), "step 2, predict, option 1, `say`: an option needs `from`, `below`"),
    "twice": (('say = "Many"', 'say = "Few"'), "step 2, predict, `options`: two options say the same."),
    "empty axis": (("high = 100", "high = 1"), "step 3, predict, `high`: it needs more than `low`, 1, got"),
    "log of zero": (("low = 1\n", "low = 0\n"), "step 3, predict, `log`: it needs a `low` above 0."),
    "how close": (("close_factor = 2", ""), "step 3, predict, `close`: give either `close`, a difference"),
    "no axis": (("low = 1\nhigh = 100\nlog = true", ""), "step 3, predict, `low`: an axis needs `low` and"),
    "no list": (("after = []", 'after = "floats"'), "`after`: it needs a list, got 'floats'."),
    "no TOML": (("minutes = 9", "minutes = "), "03_scaling.toml: this is no TOML: Invalid value (at line 3"),
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


@pytest.mark.parametrize(("change", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_in_one_sentence(tmp_path, change, told):
    read = read_chapter(written(tmp_path, change))
    assert read.chapter is None
    (sentence,) = read.complaints
    assert told in sentence
    assert sentence.startswith("03_scaling.toml")


def test_two_steps_are_no_chapter_and_a_file_has_a_number(tmp_path):
    (tmp_path / "04_few.toml").write_text('title = "T"\nminutes = 1\nsteps = []', encoding="utf-8")
    assert read_chapter(tmp_path / "04_few.toml").complaints == (
        "04_few.toml, `steps`: a chapter has 3 to 6 steps, got 0.",
    )
    assert "is named as 03_scaling.toml" in read_chapter(written(tmp_path, name="few.toml")).complaints[0]
