"""The controls and the facts of the page "Sanity check": the extent of a check, and the choice of one."""

from collections.abc import Sequence

from fp8core.recipes import RECIPES
from kernels.check.report import Verdict
from pages.kit.inert import plain
from pages.kit.widgets import Choice, Radio
from pages.sanity_check.history import Past
from pages.sanity_check.report import moment

FULL, QUICK = "full", "quick"
NEWEST = 0
_MARKS = {0: ":green[✓]", 1: ":red[✗]", 2: ":violet[∅]"}  # by the exit code of a check

EXTENT = Choice(
    key="check",
    label="Check",
    options={FULL: "Full", QUICK: "Quick"},
    help="Full checks and times every recipe with all three matmuls, Quick with Fprop only.",
)
CONTROLS = (EXTENT,)
FACTS = {"recipes": lambda _: len(RECIPES)}


def past_control(past: Sequence[Past]) -> Choice[int]:
    options = {NEWEST: "The newest", **{one.number: label(one) for one in past}}
    return Radio(
        key="run",
        label="Checks of this server",
        options=options,
        default=NEWEST,
        help="Of all sessions, newest first. Restarting the app forgets them.",
    )


def check_of(past: Sequence[Past], number: int) -> Past | None:
    return next((one for one in past if number in (NEWEST, one.number)), None)


def label(past: Past) -> str:
    report = past.report
    mark = _MARKS.get(report.exit_code, ":gray[–]")
    slow = report.count(Verdict.SLOW)
    verdict = f"{report.headline}, {slow} slow" if slow else report.headline
    extent = QUICK if report.job.quick else FULL
    return f"{mark} {past.number}. {verdict} · {extent} · {plain(moment(report))}"
