"""Follow me, on a real server: a student's page goes where the teacher goes."""

import asyncio

from tests.asynchronous import complete
from tests.load.session import Session, opened
from tests.serving import serving

PATIENCE_S = 20.0


async def arrives(session: Session, page: str, query: str) -> None:
    """Wait until the browser's address is this page's."""
    async with asyncio.timeout(PATIENCE_S):
        while (session.view.page_hash, session.view.query) != (session.view.pages[page], query):
            await asyncio.sleep(0.05)


def words(session: Session) -> str:
    return " ".join(element.body for kind, element in session.view.elements() if kind == "markdown")


def test_a_student_follows_the_teacher_until_leaving():
    async def lesson(url: str, token: str) -> None:
        async with opened(url, "classroom") as teacher, opened(url, "scaling") as student:
            await teacher.open()
            await teacher.change("class_token", token)
            await teacher.press("class_enter")
            await student.open("scaling=rules")
            assert "You follow" not in words(student)
            await teacher.press("lead_start")
            await teacher.go("formats")
            await arrives(student, "formats", "")
            assert "You follow the teacher" in words(student)
            await teacher.change("number", "0.7")
            await arrives(student, "formats", "number=0.7")
            await student.press("follow_leave")
            await teacher.change("number", "0.2")
            await asyncio.sleep(2.5)
            assert student.view.query == "number=0.7"
            await student.press("follow_again")
            await arrives(student, "formats", "number=0.2")
            assert teacher.view.exceptions == student.view.exceptions == []

    with serving() as server:
        complete(lesson(server.url, server.token))
