"""The controls of "Sanity check": the extent of a check, and the choice among the kept checks."""

from collections.abc import Sequence

from pages.kit.widgets import Choice, ChoiceStyle
from pages.sanity_check.history import Past
from pages.sanity_check.words import label

FULL, QUICK = "full", "quick"
NEWEST = 0

EXTENT = Choice(
    key="check",
    label="Check",
    options={FULL: "Full", QUICK: "Quick"},
    default=FULL,
    help="Full checks and times every recipe with all three matmuls, Quick with Fprop only.",
)


def shown_control(past: Sequence[Past]) -> Choice[int]:
    """The choice among the checks that are kept now."""
    options = {NEWEST: "The newest", **{one.number: label(one) for one in past}}
    return Choice(
        key="run",
        label="Checks of this server",
        options=options,
        default=NEWEST,
        style=ChoiceStyle.RADIO,
        help="Of all sessions, newest first. Restarting the app forgets them.",
    )


def chosen(past: Sequence[Past], number: int) -> Past | None:
    """The check to show; None where there is none yet."""
    return next((one for one in past if number in (NEWEST, one.number)), None)
