"""The controls of the page "Lesson"."""

from pages.kit.lesson.library import Library
from pages.kit.widgets import Choice, ChoiceStyle, Toggle

ALL = ""

PRINT = Toggle(
    key="print",
    label="For paper",
    help="All steps one under the other. The browser's own print command makes a PDF of them.",
)


def chapter_control(lessons: Library) -> Choice[str]:
    """The chapter that the page shows, or all of them."""
    return Choice(
        key="chapter",
        label="Chapter",
        options={ALL: "All chapters"} | {one.name: one.title for one in lessons.chapters},
        default=ALL,
        style=ChoiceStyle.SELECT,
    )
