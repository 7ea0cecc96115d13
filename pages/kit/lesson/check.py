"""Checks of a chapter against the pages: every setting is accepted, every fact is computed.

python -m pages.kit.lesson.check assets/lessons/03_scaling.toml
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from streamlit.config import get_config_options
from streamlit.logger import set_log_level

from pages.kit.lesson.chapter import (
    FILE_NAME,
    LESSONS,
    Fact,
    Kind,
    Prediction,
    Step,
    chapter_files,
    read_chapter,
)
from pages.kit.lesson.facts import TRUTH, fact, filled, misfits, names_in, unknown_in


def complaints_about(path: Path) -> tuple[str, ...]:
    chapter, wrong = read_chapter(path)
    if chapter is None:
        return tuple(wrong)
    before = [FILE_NAME.fullmatch(other.name) for other in path.parent.iterdir() if other.name < path.name]
    names = {name[1] for name in before if name}
    return (
        *(
            f"{path.name}, `after`: no file before this one has the chapter {name!r}."
            for name in chapter.after
            if name not in names
        ),
        *(
            f"{path.name}, step {number}, `{field}`: {fault}."
            for number, step in enumerate(chapter.steps, 1)
            for field, fault in _step(step)
        ),
    )


def _step(step: Step) -> Iterator[tuple[str, str]]:
    wrong = misfits(step)
    yield from wrong
    if wrong:
        return
    for field, text in {"title": step.title, "text": step.text, "do": step.do}.items():
        yield from _text(field, text, step)
    if step.predict is not None:
        yield from _prediction(step, step.predict)


def _text(field: str, text: str, step: Step, truth: Fact | None = None) -> Iterator[tuple[str, str]]:
    for braces in unknown_in(text):
        yield field, f"{braces} names no fact; write it as {{page.name:format}}"
    is_after = truth is not None
    predict = step.predict
    if not is_after and predict is not None and not predict.then and predict.truth in names_in(text):
        yield field, f"it tells {predict.truth} before the reader has predicted it"
    try:
        filled(text, step.settings(is_locked=is_after), truth)
    except ValueError as wrong:
        yield field, str(wrong)


def _prediction(step: Step, predict: Prediction) -> Iterator[tuple[str, str]]:
    for field, text in [("ask", predict.ask), *(("options", option.say) for option in predict.options)]:
        yield from _text(field, text, step)
    try:
        truth = fact(predict.truth, step.settings(is_locked=True))
    except ValueError as wrong:
        yield "truth", str(wrong)
        return
    yield from _text("reveal", predict.reveal, step, truth)
    if predict.kind is Kind.CHOICE:
        holding = [option.say for option in predict.options if option.holds(truth)]
        if len(holding) != 1:
            which = " and ".join(map(repr, holding)) or "none"
            yield "options", f"exactly one must hold for {TRUTH} = {truth!r}, and {which} holds"
    elif isinstance(truth, str):
        yield "truth", f"{predict.truth} is the word {truth!r}, and only a choice can ask for a word"
    elif _is_outside(predict, truth):
        yield "low", f"{TRUTH} = {truth:g} is outside of `low` to `high`"


def _is_outside(predict: Prediction, truth: float) -> bool:
    below = predict.low is not None and truth < predict.low
    return below or (predict.high is not None and truth > predict.high)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m pages.kit.lesson.check",
        description="Check chapters: every setting is accepted by its page, and every fact is computed.",
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="chapters (default: all)")
    files = parser.parse_args(arguments).files or chapter_files(LESSONS)
    # Outside of a server, Streamlit warns that there is none. Reading its settings sets the level once more.
    get_config_options()
    set_log_level("error")
    wrong = 0
    for path in files:
        faults = complaints_about(path)
        wrong += len(faults)
        sys.stdout.write("\n".join(faults or [f"{path.name}: all well."]) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
