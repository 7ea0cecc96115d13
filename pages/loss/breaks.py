"""Section "Break it": changes that break training, and changes without harm at this size."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from kernels.train.job import TrainJob
from kernels.train.variants import VARIANTS, Shows, Variant
from pages.kit.charts.words import count, short
from pages.kit.controls import Controls, link_params
from pages.kit.inert import plain
from pages.kit.view import draw_notice, here, stage
from pages.kit.widgets import Value
from pages.loss.charts.curves import CHANGED, Label
from pages.loss.controls import CHANGE, HELD_OUT, PRODUCTS, SIZE
from pages.loss.curves import LOG_NAMES, SMALL, draw_lines, loss_rule, numbers
from pages.loss.gaps import FEWEST, apart, finals, line, mean_line, percent
from pages.loss.runs import FEW, NOTHING, Group, group_here, key_of, literature
from pages.loss.train import draw_button, draw_run, job_for

# The statistic that shows a change, and its copy or result, as `numbers` names it.
SIGNS = {
    "unscaled_gradients": ("underflows_percent", "dy in Dgrad"),
    "stochastic_fprop": (PRODUCTS, "y in Fprop"),
    "one_scale_e2m1": ("underflows_percent", "dy in Dgrad"),
    "mx_floor": ("overflows_percent", "x in Fprop"),
    "e4m3_gradients": ("underflows_percent", "dy in Dgrad"),
    "fast_everywhere": (PRODUCTS, "dw in Wgrad"),
    "no_rotation": (PRODUCTS, "dw in Wgrad"),
}


def evidence(variant: Variant, group: Group | None) -> str:
    """The statistic with the change and without it, in a sentence."""
    if group is None or variant.name not in SIGNS:
        return ""
    metric, tensor = SIGNS[variant.name]
    name, unit = LOG_NAMES.get(metric, "SQNR"), " dB" * (metric == PRODUCTS)

    def layers(job: TrainJob) -> Sequence[float | None]:
        statistics = next((run.row.statistics for run in group.of(key_of(job)) if run.row.statistics), None)
        return numbers(statistics[-1], metric)[tensor] if statistics else ()

    def middle(values: Sequence[float | None]) -> str:
        return f"**{short(median(value for value in values if value is not None), 3)}**{unit}"

    own, beside = layers(variant.job), layers(variant.beside)
    zeros = own.count(None)
    if zeros == len(own):
        return ""
    without = f", without the change {middle(beside)}" if any(one is not None for one in beside) else ""
    over = f"the median of {name} of {tensor} over {count(len(own) - zeros, 'layer')}"
    sentence = f"At the end, {over} is {middle(own)}{without}."
    if not zeros or metric == PRODUCTS:
        return sentence
    return f"{sentence} In {count(zeros, 'other layer')} {tensor.split()[0]} is 0 before it is quantized."


# The picture that explains a change: the words of the link, and the controls of its page.
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


def show(controls: Controls) -> None:
    view, group = here(), group_here(controls)
    variant = VARIANTS[controls.draw(CHANGE, view.control)]
    _draw_result(controls, variant, group)
    at_scale = literature().at_scale[variant.name]
    view.know.markdown(f"**{variant.title}**. {at_scale.reason} {evidence(variant, group)}".strip())
    view.know.markdown(f"At scale: {at_scale.found} {at_scale.link}.")
    if variant.shows is Shows.NOTHING:
        view.know.markdown(SMALL)
    label, settings = PICTURES[variant.name]
    view.know.page_link(
        f"pages/{at_scale.page}.py",
        label=f"The picture that explains it: {label}",
        icon=":material/image:",
        query_params=link_params(**settings),
    )
    if group is not None:
        view.know.caption(f"{loss_rule(HELD_OUT)} {group.origin}")


def _draw_result(controls: Controls, variant: Variant, group: Group | None) -> None:
    job = job_for(replace(variant.job, model=controls.value(SIZE)), group)
    draw_button(job, "Train it so", here().more, key="loss_break")
    if draw_run(job, key="loss_break"):
        return
    if group is None or len(group.bf16) < FEWEST:
        stage().info(NOTHING if group is None else FEW)
        return
    draw_notice(notice(variant, group))
    lines, labels = [], []
    for recipe, job, name in (
        (CHANGED, variant.job, "with the change"),
        (variant.beside.recipe, variant.beside, "without it"),
    ):
        runs = [line(run, group, HELD_OUT, recipe=recipe) for run in group.of(key_of(job))]
        if not any(run.steps for run in runs):
            continue
        mean = mean_line(runs)
        lines += [*runs, mean]
        end = mean.percent[-1] if mean.steps else 0.0
        figure = "failed" if any(run.failure for run in runs) else percent(end, 1)
        note = "" if recipe == CHANGED else runs[0].name
        labels.append(Label(percent=end, figure=figure, name=name, note=note))
    if lines:
        draw_lines(lines, group, HELD_OUT, labels, key="loss_change")


def notice(variant: Variant, group: Group) -> str:
    own, beside = (key_of(job) for job in (variant.job, variant.beside))
    failures = [run.row.failure for run in group.of(own) if run.row.failure]
    if failures:
        return f"The run with this change **failed**. {plain(failures[0])}"
    ends = {one.key: one for one in finals(group, [own, beside])}
    if own not in ends:
        return "No run with this change is recorded for this model."
    ending = f"With this change the loss ends **{percent(ends[own].gap.percent, 1)} from bf16**"
    if beside not in ends:
        return f"{ending}: {ends[own].verdict}."
    difference, error = apart(variant, group)
    clear = "These runs show a difference" if abs(difference) > error else "These runs show no difference"
    return f"{ending}, without it {percent(ends[beside].gap.percent, 1)}. {clear}."
