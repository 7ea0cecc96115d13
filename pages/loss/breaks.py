"""Section "Break it": changes that break training at once, and changes that show nothing at this size."""

from dataclasses import dataclass, replace
from statistics import median

from fp8core.linear import MATMULS
from kernels.train.job import TrainJob
from kernels.train.row import CopyStatistics
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
from pages.loss.runs import Group, group_here, key_of, sourced
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
    changed, zeros = _by_layer(group, variant.job, sign)
    if sign.layer:
        own = changed.pop(sign.layer, None)
        if own is None or not changed:
            return ""
        others, middle = count(len(changed), "other layer"), sign.words(median(changed.values()))
        return (
            f"At the end, {sign.title} is {sign.words(own)} in the {sign.layer}; its median over the "
            f"{others} is {middle}."
        )
    if not changed:
        return ""
    beside, _ = _by_layer(group, variant.beside, sign)
    without = f", without the change {sign.words(median(beside.values()))}" if beside else ""
    over = f"the median of {sign.title} over {count(len(changed), 'layer')}"
    change = f"At the end, {over} is {sign.words(median(changed.values()))}{without}."
    if zeros:
        change += f" In {count(zeros, 'other layer')} {sign.tensor} is 0 before it is quantized."
    return change


def _by_layer(group: Group, job: TrainJob, sign: Sign) -> tuple[dict[str, float], int]:
    """The last statistic of each layer by its name, and a count of the layers whose tensor is 0."""
    recorded = [run.row.statistics for run in group.of(key_of(job)) if run.row.statistics]
    if not recorded:
        return {}, 0
    last, by_layer, zeros = look_at(recorded[0], LATE), {}, 0
    for one in (*last.copies, *last.products):
        if (one.tensor, one.matmul) == (sign.tensor, sign.matmul):
            # The amax of results is not kept.
            sizes = one.amax if isinstance(one, CopyStatistics) else [None] * len(last.layers)
            zeros += sizes.count(0)
            values = zip(last.layers, getattr(one, sign.field), sizes, strict=True)
            by_layer |= {layer: value for layer, value, amax in values if value is not None and amax != 0}
    return by_layer, zeros


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
