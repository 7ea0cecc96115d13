"""A class on a real server: predict, talk, vote again, reveal. Students' pages hear of it by themselves."""

import asyncio
from collections.abc import Callable

from tests.asynchronous import complete
from tests.load.session import Session, opened
from tests.serving import serving

PATIENCE_S = 20.0
FEW, ALL = "Hardly any: floats adapt", "All, or nearly all"
RADIO = "lesson_answer_scaling_1"


def told(session: Session) -> str:
    kinds = ("markdown", "alert", "html")
    return " ".join(element.body for kind, element in session.view.elements() if kind in kinds)


async def hears(session: Session, words: str) -> None:
    """Wait until the session's page says this."""
    await _in_time(lambda: words in told(session))


async def _in_time(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.05)


async def answer(session: Session, option: str) -> None:
    await session.change(RADIO, option)
    await session.press("lesson_lock")


def test_two_students_predict_talk_vote_again_and_see_the_truth_with_the_teacher():
    async def lesson(url: str, token: str) -> None:
        async with (
            opened(url, "classroom") as teacher,
            opened(url, "scaling") as ann,
            opened(url, "scaling") as ben,
            opened(url, "scaling") as late,
        ):
            await teacher.open()
            await teacher.change("class_token", token)
            await teacher.press("class_enter")
            await teacher.change(
                "step", next(one for one in teacher.view.widgets["step"].choices if "Numbers that fit" in one)
            )
            for student, option in ((ann, FEW), (ben, ALL)):
                await student.open("lesson=scaling.1")
                await answer(student, option)
                assert "Your answer is in." in told(student)
                assert "became zero" not in told(student)
                assert "scaling_input=gaussian" in student.view.query
            await hears(teacher, "**2** of 2 have answered.")
            assert "(the truth)" not in told(teacher)
            await teacher.press("class_again")
            await hears(ann, "The class votes again.")
            await late.open("lesson=scaling.1")
            assert "The class votes again." in told(late)
            await answer(ann, ALL)
            await hears(teacher, "**1** of 3 have answered, after talking.")
            await teacher.press("class_truth")
            assert "(the truth)" in told(teacher)
            for student in (ann, ben, late):
                await hears(student, "became zero")
                await _in_time(lambda one=student: "scaling_input=gaussian" not in one.view.query)
            assert "**Right.**" in told(ann)
            assert "The page says" in told(ben), "who did not vote again sees it as well"
            assert [one.view.exceptions for one in (teacher, ann, ben, late)] == [[]] * 4

    with serving() as server:
        complete(lesson(server.url, server.token))
