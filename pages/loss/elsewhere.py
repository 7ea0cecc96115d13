"""Section "Elsewhere": our final gaps beside published ones, and where they agree."""

from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import combinations
from math import hypot

from fp8core.experiments.run_spread import SURE
from fp8core.recipes import RECIPES
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import count
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here, stage
from pages.loss.charts.gaps import Pair, published_chart
from pages.loss.gaps import Final, finals, interval
from pages.loss.runs import NOTHING, Published, group_here, sourced

CAUTION = (
    "Sizes, texts and lengths differ, so equal figures would be luck. Compare the **order of magnitude**: "
    "far below a percent with eight bits, some percent with four. “Forward only” rounds no gradient; ours "
    "rounds them, too. Most published gaps are of one run a side. Some “fp8” curves of papers are bf16 "
    "(Quartet, [issue 12](https://github.com/IST-DASLab/Quartet/issues/12), 2026-09): so the table of "
    "“Curves” counts the quantized GEMMs of a step."
)


class Verdict(Enum):
    """A published gap beside our interval, in the picture and in the table."""

    AGREES = "agrees", "yes: our interval holds it, and leaves out 0"
    BOUND = "below the bound", "yes: our interval keeps below it"
    WIDE = "cannot decide", "cannot tell: our interval holds 0, too"
    OVER = "cannot decide", "cannot tell: our interval reaches over it"
    LARGER = "ours is larger", "no: ours is larger"
    SMALLER = "ours is smaller", "no: ours is smaller"
    NO_FIGURE = "", "no percentage given"


def show(controls: Controls) -> None:
    """Draw our gaps beside published ones, and the table of both."""
    know, group = here().know, group_here(controls)
    last = finals(group, [(name, False, False) for name in group.recipes]) if group else []
    ours = {one.key[0]: one for one in last}
    every = pairs(ours)
    draw_notice(notice(every))
    if every:
        draw_chart(
            published_chart(every, room(), INKS[theme()]),
            key="loss_elsewhere",
            alt="Our gaps and published ones, in percent. "
            + "; ".join(
                f"{one.title}: ours {one.percent:+.2f}, {one.source} {one.published:+.2g}" for one in every
            ),
            is_rigid=True,
        )
    else:
        stage().info(NOTHING)
    know.markdown(f"{disagreements(every)}{order_words(ours)}")
    know.markdown(table(ours))
    if group is not None:
        against = (
            "each against bf16's run of the same seed, since equal seeds help here (“Curves”, “Ends”)"
            if any(one.paired for one in last)
            else "against the mean of bf16's seeds"
        )
        rule = f"Ours: the mean of the runs, {against}, ± the half of its {SURE:.0%} interval."
        know.caption(f"{rule} {group.origin}")
    know.markdown(CAUTION)


def pairs(ours: Mapping[str, Final]) -> list[Pair]:
    """Each published percentage beside our interval for each of its recipes."""
    return [
        Pair(
            title=RECIPES[name].title,
            recipe=name,
            published=one.gap_percent,
            is_bound=one.at_most,
            percent=ours[name].closest.percent,
            error=ours[name].closest.error,
            verdict=verdict.value[0],
            is_decided=verdict not in (Verdict.WIDE, Verdict.OVER),
            source=one.source,
        )
        for one in sourced().published
        for name in one.recipes
        if name in ours and one.gap_percent is not None
        for verdict in [agreement(one, ours[name])]
    ]


def agreement(one: Published, ours: Final) -> Verdict:
    """A published gap beside ours. An interval that holds 0 would have held a gap of none as well."""
    published = one.gap_percent
    if published is None:
        return Verdict.NO_FIGURE
    own = ours.closest
    low, high = own.percent - own.error, own.percent + own.error
    if one.at_most and high <= published:
        return Verdict.BOUND
    if low > published:
        return Verdict.LARGER
    if one.at_most:
        return Verdict.OVER
    if high < published:
        return Verdict.SMALLER
    return Verdict.WIDE if low <= 0 <= high else Verdict.AGREES


def _number(every: Sequence[Pair], *verdicts: Verdict) -> int:
    return sum(one.verdict in [verdict.value[0] for verdict in verdicts] for one in every)


def notice(every: Sequence[Pair]) -> str:
    """The number of published figures that agree with ours."""
    if not every:
        return "No recorded run of ours is beside a published gap yet."
    agree = _number(every, Verdict.AGREES, Verdict.BOUND) or "none"
    wide = _number(every, Verdict.WIDE)
    sentence = f"Of {count(len(every), 'published gap')}, **{agree} agree with ours**."
    return f"{sentence} {wide} of {len(every)} we cannot decide: too few runs." if wide else sentence


def disagreements(every: Sequence[Pair]) -> str:
    """The number of published figures that do not agree."""
    larger, smaller = (_number(every, one) or "none" for one in (Verdict.LARGER, Verdict.SMALLER))
    return f"Ours is larger than {larger} of the published gaps, and smaller than {smaller} of them."


def order_words(ours: Mapping[str, Final]) -> str:
    """Our order of recipes beside that of sources that trained several alike; empty where none did."""
    apart, same, every = 0, 0, 0
    for one, other in combinations(sourced().published, 2):
        (name, gap), (beside, more) = ((each.recipes[0], each.gap_percent) for each in (one, other))
        if one.trained != other.trained or one.source != other.source or None in (gap, more):
            continue
        if name not in ours or beside not in ours:
            continue
        left, right = ours[name].closest, ours[beside].closest
        between = left.percent - right.percent
        is_apart = abs(between) > hypot(left.error, right.error)
        every += 1
        apart += is_apart
        same += is_apart and (between > 0) is (gap > more)
    if not every:
        return ""
    return (
        f" **The order** says more: sources trained {count(every, 'pair')} of these recipes alike. Our runs "
        f"tell {apart} of them apart, {same} in the order of the source."
    )


def table(ours: Mapping[str, Final]) -> str:
    """A Markdown table: a line for each published gap and each of its recipes."""
    lines = [
        "| recipe | ours | published | agree? | what they trained | source |",
        "|:--|--:|--:|:--|:--|:--|",
    ]
    for one in sourced().published:
        for name in [name for name in one.recipes if name in ours] or one.recipes[:1]:
            own, verdict = "–", "–"
            if name in ours:
                own, verdict = interval(ours[name].closest), agreement(one, ours[name]).value[1]
            cells = plain(RECIPES[name].title), own, one.gap_words, verdict, one.trained, one.link
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
