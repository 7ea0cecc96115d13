"""The controls of "Class": the address that others are given, and the step whose answers are shown."""

from collections.abc import Mapping

from pages.kit.widgets import Choice, ChoiceStyle, Text

LINK_LONGEST = 300
NO_STEP = "none"

LINK = Text(
    key="link",
    label="Address of the class",
    longest=LINK_LONGEST,
    default="",
    help="What the class types or scans. Empty: as this page guesses it.",
)


def step_control(steps: Mapping[str, str]) -> Choice[str]:
    options = dict(steps) or {NO_STEP: "No step of the lesson asks anything"}
    return Choice(
        key="step",
        label="Step",
        options=options,
        default=next(iter(options)),
        style=ChoiceStyle.SELECT,
        help="The steps of the lesson that ask for a prediction.",
    )
