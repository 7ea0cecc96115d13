"""Section "Elsewhere": our final gaps beside published ones."""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum

from fp8core.experiments.run_spread import SURE
from fp8core.recipes import RECIPES
from pages.kit.charts.words import count
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.tables import markdown_table
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room, stage
from pages.loss.charts.gaps import Row, published_chart
from pages.loss.gaps import Final, finals, interval
from pages.loss.runs import NOTHING, PublishedGap, group_here, literature

CAUTION = (
    "Sizes, texts and lengths differ, so equal figures would be luck. Compare the **order of magnitude**: "
    "far below a percent with eight bits, some percent with four. “Forward only” rounds no gradient; ours "
    "rounds them, too. Most published gaps are of one run a side. Some “fp8” curves of papers are bf16 "
    "(Quartet, [issue 12](https://github.com/IST-DASLab/Quartet/issues/12), 2026-09): so the table of "
    "“Curves” counts the quantized GEMMs of a step."
)


class Verdict(Enum):
    AGREES = "agrees"
    BOUND = "below the bound"
    UNDECIDED = "cannot decide"
    LARGER = "ours is larger"
    SMALLER = "ours is smaller"
    NO_FIGURE = "no percentage given"


def show(controls: Controls) -> None:
    know, group = here().know, group_here(controls)
    last = finals(group, [(name, False, False) for name in group.recipes]) if group else []
    ours = {one.key[0]: one for one in last}
    every = pairs(ours)
    draw_notice(notice(every))
    if every:
        draw_chart(
            published_chart(every, room(), page_ink()),
            key="loss_elsewhere",
            alt="Our gaps and published ones, in percent. "
            + "; ".join(
                "{title}: ours {percent:+.2f}, {source} {published:+.2g}".format(**one) for one in every
            ),
        )
    else:
        stage().info(NOTHING)
    here().after.markdown(table(ours))
    if group is not None:
        rule = "Ours, as in “Curves”: the mean of a recipe's runs above the mean of bf16's seeds"
        know.caption(f"{rule}, ± the half of its {SURE:.0%} interval. {group.origin}")
    know.markdown(CAUTION)


def pairs(ours: Mapping[str, Final]) -> list[Row]:
    return [
        {
            "title": RECIPES[name].title,
            "recipe": name,
            "published": one.gap_percent,
            "is_bound": one.at_most,
            "percent": gap.percent,
            "low": gap.percent - gap.error,
            "high": gap.percent + gap.error,
            "verdict": verdict.value,
            "is_decided": verdict is not Verdict.UNDECIDED,
            "source": f"{one.source.partition(',')[0]}, {one.date[:4]}",
        }
        for one in literature().published
        for name in one.recipes
        if name in ours and one.gap_percent is not None
        for gap, verdict in [(ours[name].gap, agreement(one, ours[name]))]
    ]


def agreement(one: PublishedGap, ours: Final) -> Verdict:
    """A published gap against our interval; with 0 in it, the interval decides nothing."""
    published = one.gap_percent
    if published is None:
        return Verdict.NO_FIGURE
    own = ours.gap
    low, high = own.percent - own.error, own.percent + own.error
    if one.at_most and high <= published:
        return Verdict.BOUND
    if low > published:
        return Verdict.LARGER
    if one.at_most:
        return Verdict.UNDECIDED
    if high < published:
        return Verdict.SMALLER
    return Verdict.UNDECIDED if low <= 0 <= high else Verdict.AGREES


def notice(every: Sequence[Row]) -> str:
    if not every:
        return "No recorded run of ours is beside a published gap yet."
    numbers = Counter(one["verdict"] for one in every)
    agree = numbers[Verdict.AGREES.value] + numbers[Verdict.BOUND.value] or "none"
    unsure = numbers[Verdict.UNDECIDED.value]
    rest = f" {unsure} of {len(every)} we cannot decide: too few runs." if unsure else ""
    return f"Of {count(len(every), 'published gap')}, **{agree} agree with ours**.{rest}"


def table(ours: Mapping[str, Final]) -> str:
    rows = [
        (
            plain(RECIPES[name].title),
            interval(ours[name].gap) if name in ours else "–",
            one.gap_words,
            agreement(one, ours[name]).value if name in ours else "–",
            one.setup,
            one.link,
        )
        for one in literature().published
        for name in [name for name in one.recipes if name in ours] or one.recipes[:1]
    ]
    heads = ("recipe", "ours", "published", "agree?", "what they trained", "source")
    return markdown_table(heads, rows, "<>><")
