"""Section "Break it": changes that break training at once, and changes that show nothing at this size."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from fp8core.linear import MATMULS
from kernels.train.job import TrainJob
from kernels.train.row import CopyStatistics, ProductStatistics, Statistics
from kernels.train.sizes import HEAD
from kernels.train.variants import VARIANTS, Shows, Variant
from pages.kit.charts.words import count, short
from pages.kit.controls import Controls, link_params
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.view import here, stage
from pages.kit.widgets import Value
from pages.loss import words
from pages.loss.charts.curves import CHANGED, Label
from pages.loss.controls import CHANGE, HELD_OUT, LATE, SIZE
from pages.loss.curves import draw_lines
from pages.loss.gaps import FEWEST, apart, finals, line, mean_line
from pages.loss.layers import LOG_NAMES, look_at
from pages.loss.runs import Group, Key, group_here, key_of, sourced
from pages.loss.train import draw_button, draw_run, job_for


@dataclass(frozen=True)
class Sign:
    """The statistic that shows a change: of which tensor, in which matmul.

    - field: one of CopyStatistics. y, dx and dw have the SQNR only.
    - layer: the one layer that is changed, beside the others of its run; empty where all are, beside a run
      without the change.
    """

    tensor: str
    matmul: str
    field: str = "sqnr_db"
    layer: str = ""

    @property
    def title(self) -> str:
        """The statistic in words."""
        return f"{LOG_NAMES.get(self.field, 'SQNR')} of {self.tensor} in {MATMULS[self.matmul].title}"

    def words(self, value: float) -> str:
        """A value with its unit."""
        return f"**{short(value, 3)}**{'' if self.field in LOG_NAMES else ' dB'}"


SIGNS = {
    "unscaled_gradients": Sign("dy", "dgrad", "underflows_percent"),
    "stochastic_fprop": Sign("y", "fprop"),
    "one_scale_e2m1": Sign("dy", "dgrad", "underflows_percent"),
    "head_in_four_bits": Sign("dy", "dgrad", "underflows_percent", HEAD),
    "mx_floor": Sign("x", "fprop", "overflows_percent"),
    "e4m3_gradients": Sign("dy", "dgrad", "underflows_percent"),
    "fast_everywhere": Sign("dw", "wgrad"),
    "no_rotation": Sign("dw", "wgrad"),
}
"""By the name of the change."""


def evidence(variant: Variant, group: Group | None) -> str:
    """The statistic with the change and without it, as a sentence; empty where it is not recorded."""
    sign = SIGNS.get(variant.name)
    if group is None or sign is None:
        return ""
    if sign.layer:
        return _of_one_layer(group, key_of(variant.job), sign)
    changed, beside = ([*_values(group, key_of(job), sign).values()] for job in (variant.job, variant.beside))
    if not changed:
        return ""
    without = f", without the change {sign.words(median(beside))}" if beside else ""
    over = f"the median of {sign.title} over {count(len(changed), 'layer')}"
    change = f"At the end, {over} is {sign.words(median(changed))}{without}."
    zeros = _zeros(group, key_of(variant.job), sign)
    return (
        f"{change} In {count(zeros, 'other layer')} {sign.tensor} is 0 before it is quantized."
        if zeros
        else change
    )


def _of_one_layer(group: Group, key: Key, sign: Sign) -> str:
    """The statistic in one layer and in the others, as a sentence; empty where it is not recorded."""
    by_layer = _values(group, key, sign)
    if sign.layer not in by_layer or len(by_layer) < 2:
        return ""
    own = by_layer.pop(sign.layer)
    others, middle = count(len(by_layer), "other layer"), sign.words(median(by_layer.values()))
    return (
        f"At the end, {sign.title} is {sign.words(own)} in the {sign.layer}; its median over the {others} is "
        f"{middle}."
    )


def _last(group: Group, key: Key) -> Statistics | None:
    """The last statistics of a run of this kind; None where none is recorded."""
    recorded = [run.row.statistics for run in group.of(key) if run.row.statistics]
    return look_at(recorded[0], LATE) if recorded else None


def _values(group: Group, key: Key, sign: Sign) -> dict[str, float]:
    """The statistic of all layers whose tensor is not 0, by name; none where nothing is recorded."""
    last = _last(group, key)
    if last is None:
        return {}
    return {
        layer: value
        for one in (*last.copies, *last.products)
        if (one.tensor, one.matmul) == (sign.tensor, sign.matmul)
        for layer, value, amax in zip(last.layers, getattr(one, sign.field), _sizes(one), strict=True)
        if value is not None and amax != 0
    }


def _zeros(group: Group, key: Key, sign: Sign) -> int:
    """Layers whose tensor is 0, every element of it."""
    last = _last(group, key)
    copies = last.copies if last is not None else ()
    return sum(one.amax.count(0) for one in copies if (one.tensor, one.matmul) == (sign.tensor, sign.matmul))


def _sizes(one: CopyStatistics | ProductStatistics) -> Sequence[float | None]:
    """amax in each layer; None for results, whose amax is not kept."""
    return one.amax if isinstance(one, CopyStatistics) else [None] * len(one.sqnr_db)


PICTURES: dict[str, tuple[str, dict[str, Value]]] = {
    "unscaled_gradients": ("Which gradients are left without a scale", {"scaling": "window"}),
    "stochastic_fprop": (
        "What random rounding does to a dot product",
        {"part": "training", "rounded": "dot"},
    ),
    "one_scale_e2m1": ("What one scale for all loses", {"outliers_show": "more", "outliers_more": "parts"}),
    "head_in_four_bits": ("What four bits keep of a tensor", {"outliers_show": "map"}),
    "mx_floor": (
        "Where the largest number of a block lands",
        {"scaling": "rules", "scaling_element": "e2m1"},
    ),
    "e4m3_gradients": ("The range of both formats", {"formats": "compare"}),
    "fast_everywhere": ("What a short accumulator drops", {"sum_show": "curves"}),
    "no_rotation": ("What a rotation gains, and where it costs", {"rotations_show": "error"}),
}
"""The picture that explains a change: the words of the link, and the controls of its page."""
_NOTHING_TOLD = (
    "A change that matters for a large model may show nothing in a small one: it has few outliers, its sums "
    "are short, and it reads too little text for rare events."
)


def show(controls: Controls) -> None:
    """Draw the chosen change with its curves; its reason, and what was found at scale."""
    view, group = here(), group_here(controls)
    variant = VARIANTS[controls.draw(CHANGE, view.control)]
    _draw_result(controls, variant, group)
    view.know.markdown(f"**{variant.title}**. {variant.reason} {evidence(variant, group)}".strip())
    at_scale = sourced().at_scale[variant.name]
    view.know.markdown(f"At scale: {at_scale.found} {at_scale.link}.")
    if variant.shows is Shows.NOTHING:
        view.know.markdown(_NOTHING_TOLD)
    _draw_picture(variant)
    if group is not None:
        view.know.caption(f"{words.loss_rule(HELD_OUT)} {words.where(group)}")


def variant_job(controls: Controls, variant: Variant) -> TrainJob:
    """The run of a change, of the chosen model."""
    return replace(variant.job, model=controls.value(SIZE))


def _draw_result(controls: Controls, variant: Variant, group: Group | None) -> None:
    job = job_for(variant_job(controls, variant), group)
    draw_button(job, "Train it so", here().more, key="loss_break")
    if draw_run(job, key="loss_break"):
        return
    if group is None or len(group.bf16) < FEWEST:
        stage().info(words.NOTHING if group is None else words.FEW)
        return
    draw_notice(notice(variant, group))
    kinds = {CHANGED: variant.job, variant.beside.recipe: variant.beside}
    lines, labels = [], []
    for recipe, kind in kinds.items():
        runs = [line(run, group, HELD_OUT, recipe=recipe) for run in group.of(key_of(kind))]
        if not any(run.steps for run in runs):
            continue
        mean = mean_line(runs)
        lines += [*runs, mean]
        percent = mean.percent[-1] if mean.steps else 0.0
        is_changed = recipe == CHANGED
        note = "" if is_changed else runs[0].name
        name = "with the change" if is_changed else "without it"
        figure = "failed" if any(run.failure for run in runs) else words.rough(percent)
        labels.append(Label(percent=percent, figure=figure, name=name, note=note))
    if lines:
        draw_lines(lines, group, HELD_OUT, labels, key="loss_change")


def notice(variant: Variant, group: Group) -> str:
    """What the change did to the last loss, beside the run without it."""
    changed, beside = (key_of(job) for job in (variant.job, variant.beside))
    fallen = [run for run in group.of(changed) if run.row.failure]
    if fallen:
        return f"The run with this change **failed**. {plain(fallen[0].row.failure)}"
    ends = {one.key: one for one in finals(group, [changed, beside])}
    if changed not in ends:
        return "No run with this change is recorded for this model."
    ending = f"With this change the loss ends **{words.rough(ends[changed].gap.percent)} from bf16**"
    if beside not in ends:
        return f"{ending}: {ends[changed].verdict}."
    percent, error = apart(variant, group)
    clear = "These runs show a difference" if abs(percent) > error else "These runs show no difference"
    return f"{ending}, without it {words.rough(ends[beside].gap.percent)}. {clear}."


def _draw_picture(variant: Variant) -> None:
    label, settings = PICTURES[variant.name]
    here().know.page_link(
        f"pages/{variant.page}.py",
        label=f"The picture that explains it: {label}",
        icon=":material/image:",
        query_params=link_params(**settings),
    )
