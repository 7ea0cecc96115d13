"""Section "Elsewhere": our final gaps beside published ones, and where they agree."""

from collections.abc import Mapping
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
from pages.loss import words
from pages.loss.charts.published import Pair, published_chart
from pages.loss.gaps import Final, finals
from pages.loss.runs import Published, group_here, sourced

AGREES, BOUND, WIDE, OVER, LARGER, SMALLER, NO_FIGURE = (
    "yes: our interval holds it, and leaves out 0",
    "yes: our interval keeps below it",
    "cannot tell: our interval holds 0, too",
    "cannot tell: our interval reaches over it",
    "no: ours is larger",
    "no: ours is smaller",
    "no percentage given",
)
CAUTION = (
    "Sizes, texts and lengths differ, so equal figures would be luck. Compare the **order of magnitude**: "
    "far below a percent with eight bits, some percent with four. “Forward only” rounds no gradient; ours "
    "rounds them, too. Most published gaps are of one run a side. Some “fp8” curves of papers are bf16 "
    "(Quartet, "
    "[issue 12](https://github.com/IST-DASLab/Quartet/issues/12), 2026-09): so the "
    "table of “Curves” counts the quantized GEMMs of a step."
)


_SHORT = {
    AGREES: "agrees",
    BOUND: "below the bound",
    WIDE: "cannot decide",
    OVER: "cannot decide",
    LARGER: "ours is larger",
    SMALLER: "ours is smaller",
}


def show(controls: Controls) -> None:
    """Draw our gaps beside published ones, and the table of both."""
    know, group = here().know, group_here(controls)
    last = finals(group, [(name, False, False) for name in group.recipes]) if group else []
    ours = {one.key[0]: one for one in last}
    draw_notice(notice(ours))
    every = pairs(ours)
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
        stage().info(words.NOTHING)
    know.markdown(f"{more(ours)}{order_words(ours)}")
    know.markdown(table(ours))
    if group is not None:
        know.caption(f"{rule(ours)} {words.where(group)}")
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
            verdict=_SHORT[verdict],
            is_decided=verdict not in (WIDE, OVER),
            source=one.source,
        )
        for one in sourced().published
        for name in one.recipes
        if name in ours and one.gap_percent is not None
        for verdict in [agreement(one, ours[name])]
    ]


def agreement(one: Published, ours: Final) -> str:
    """How a published gap lies to ours. An interval that holds 0 would have held a gap of none as well."""
    published = one.gap_percent
    if published is None:
        return NO_FIGURE
    own = ours.closest
    low, high = own.percent - own.error, own.percent + own.error
    if one.at_most:
        return BOUND if high <= published else LARGER if low > published else OVER
    if low <= published <= high:
        return WIDE if low <= 0 <= high else AGREES
    return LARGER if low > published else SMALLER


def notice(ours: Mapping[str, Final]) -> str:
    """How many published figures agree with ours."""
    judged = [one.verdict for one in pairs(ours)]
    if not judged:
        return "No recorded run of ours is beside a published gap yet."
    agree = sum(one in (_SHORT[AGREES], _SHORT[BOUND]) for one in judged)
    wide = judged.count(_SHORT[WIDE])
    said = f"Of {count(len(judged), 'published gap')}, **{agree or 'none'} agree with ours**."
    return f"{said} {wide} of {len(judged)} we cannot decide: too few runs." if wide else said


def more(ours: Mapping[str, Final]) -> str:
    """The published figures that do not agree."""
    judged = [one.verdict for one in pairs(ours)]
    larger, smaller = (judged.count(_SHORT[one]) or "none" for one in (LARGER, SMALLER))
    return f"Ours is larger than {larger} of the published gaps, and smaller than {smaller} of them."


def order_words(ours: Mapping[str, Final]) -> str:
    """How our order of recipes is to that of sources that trained several alike; empty where none did."""
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
    """A Markdown table: a line for each published gap and each of our recipes that it speaks of."""
    lines = [
        "| recipe | ours | published | agree? | what they trained | source |",
        "|:--|--:|--:|:--|:--|:--|",
    ]
    for one in sourced().published:
        for name in [name for name in one.recipes if name in ours] or one.recipes[:1]:
            title, own, verdict = RECIPES[name].title, "–", "–"
            if name in ours:
                own, verdict = words.interval(ours[name].closest), agreement(one, ours[name])
            lines.append(
                f"| {plain(title)} | {own} | {one.gap_words} | {verdict} | {one.trained} | {one.link} |"
            )
    return "\n".join(lines)


def rule(ours: Mapping[str, Final]) -> str:
    """The meaning of our figures: the runs that they compare."""
    paired = any(one.paired for one in ours.values())
    against = (
        "each against bf16's run of the same seed, since equal seeds help here (“Curves”, “Ends”)"
        if paired
        else "against the mean of bf16's seeds"
    )
    return f"Ours: the mean of the runs, {against}, ± the half of its {SURE:.0%} interval."
