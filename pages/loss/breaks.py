"""Section "Break it": changes that break training at once, and changes that show nothing at this size."""

from dataclasses import replace

from kernels.train.job import TrainJob
from kernels.train.variants import VARIANTS, Shows, Variant
from pages.kit.controls import Controls, link_params
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.view import here, stage
from pages.kit.widgets import Value
from pages.loss import words
from pages.loss.charts.curves import CHANGED, Label
from pages.loss.controls import CHANGE, HELD_OUT, SIZE
from pages.loss.curves import draw_lines
from pages.loss.evidence import evidence
from pages.loss.gaps import FEWEST, apart, finals, line, mean_line
from pages.loss.live import draw_button, draw_run, job_for
from pages.loss.runs import Group, key_of
from pages.loss.sourced import sourced
from pages.loss.state import group_here

PICTURES: dict[str, tuple[str, dict[str, Value]]] = {
    "unscaled_gradients": ("Which gradients are left without a scale", {"scaling": "window"}),
    "stochastic_fprop": ("What random rounding does to a dot product", {"part": "dot"}),
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
        told = "" if is_changed else runs[0].name
        name = "with the change" if is_changed else "without it"
        figure = "failed" if any(run.failure for run in runs) else words.rough(percent)
        labels.append(Label(percent=percent, figure=figure, name=name, told=told))
    if lines:
        draw_lines(lines, group, HELD_OUT, labels, key="loss_change")


def notice(variant: Variant, group: Group) -> str:
    """What the change did to the last loss, beside the run without it."""
    changed, beside = (key_of(job) for job in (variant.job, variant.beside))
    fallen = [run for run in group.of(changed) if run.row.failure]
    if fallen:
        return f"The run with this change **failed**. {plain(fallen[0].row.failure)}"
    found = {one.key: one for one in finals(group, [changed, beside])}
    if changed not in found:
        return "No run with this change is recorded for this model."
    told = f"With this change the loss ends **{words.rough(found[changed].gap.percent)} from bf16**"
    if beside not in found:
        return f"{told}: {found[changed].verdict}."
    percent, error = apart(variant, group)
    clear = "These runs show a difference" if abs(percent) > error else "These runs show no difference"
    return f"{told}, without it {words.rough(found[beside].gap.percent)}. {clear}."


def _draw_picture(variant: Variant) -> None:
    label, settings = PICTURES[variant.name]
    here().know.page_link(
        f"pages/{variant.page}.py",
        label=f"The picture that explains it: {label}",
        icon=":material/image:",
        query_params=link_params(**settings),
    )
