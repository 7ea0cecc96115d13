"""Section "Break it": changes that break training at once, and changes that show nothing at this size."""

from dataclasses import replace
from itertools import chain

import streamlit as st

from kernels.train.job import TrainJob
from kernels.train.variants import VARIANTS, Shows, Variant
from pages.kit.controls import Controls, link_params
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.widgets import Value
from pages.sections.loss import words
from pages.sections.loss.controls import CHANGE, HELD_OUT, SIZE
from pages.sections.loss.curves import draw_runs
from pages.sections.loss.evidence import evidence
from pages.sections.loss.gaps import FEWEST, apart, finals
from pages.sections.loss.live import draw_run, job_for
from pages.sections.loss.runs import Group, key_of
from pages.sections.loss.sourced import sourced
from pages.sections.loss.state import group_here

PICTURES: dict[str, tuple[str, dict[str, Value]]] = {
    "unscaled_gradients": ("Which gradients are left without a scale", {"scaling": "window"}),
    "stochastic_fprop": ("What random rounding does to a dot product", {"part": "dot"}),
    "one_scale_e2m1": ("What one scale for all loses", {"outliers_show": "parts"}),
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
_HEADS = {
    Shows.BREAKS: "These break training, here or at scale",
    Shows.NOTHING: "These do no harm here",
}
_NOTHING_TOLD = (
    "A change that matters for a large model may show nothing in a small one: it has few outliers, its sums "
    "are short, and it reads too little text for rare events. Below each stands what was found at scale."
)


def show(controls: Controls) -> None:
    """Draw the chosen change with its curves and its reason, then all changes to choose from."""
    group = group_here(controls)
    variant = VARIANTS[controls.draw(CHANGE)]
    st.markdown(f"{variant.reason} {evidence(variant, group)}".strip())
    st.caption(f"At scale: {sourced().at_scale[variant.name].link}.")
    _draw_result(variant, group)
    _draw_picture(variant)
    draw_run(job_for(variant_job(controls, variant), group), "Train it so", key="loss_break")
    for shows, head in _HEADS.items():
        st.header(head)
        if shows is Shows.NOTHING:
            st.markdown(_NOTHING_TOLD)
        some = [one for one in VARIANTS.values() if one.shows is shows]
        pairs = [st.columns(2) for _ in range(-(-len(some) // 2))]
        for place, one in zip(chain(*pairs), some, strict=False):
            with place:
                _draw_card(controls, one, group)


def variant_job(controls: Controls, variant: Variant) -> TrainJob:
    """The run of a change, of the chosen model."""
    return replace(variant.job, model=controls.value(SIZE))


def _draw_result(variant: Variant, group: Group | None) -> None:
    if group is None or len(group.bf16) < FEWEST:
        st.info(words.NOTHING if group is None else words.FEW)
        return
    keys = [key_of(variant.job), key_of(variant.beside)]
    runs = [run for key in keys for run in group.of(key)]
    draw_notice(f"**Notice:** {notice(variant, group)}")
    if runs:
        draw_runs(runs, group, HELD_OUT, key="loss_change")
        st.caption(f"{words.loss_rule(HELD_OUT)} {words.where(group)}")


def notice(variant: Variant, group: Group) -> str:
    """What the change did to the last loss, beside the run without it."""
    changed, beside = (key_of(job) for job in (variant.job, variant.beside))
    fallen = [run for run in group.of(changed) if run.row.failure]
    if fallen:
        return f"the run with this change failed. {plain(fallen[0].row.failure)}"
    found = {one.key: one for one in finals(group, [changed, beside])}
    if changed not in found:
        return "no run with this change is recorded for this model."
    told = f"with this change the loss ends at {words.gap_text(found[changed])} above bf16"
    if beside not in found:
        return f"{told}: {found[changed].verdict}."
    percent, error = apart(variant, group)
    clear = (
        "a difference that these runs show"
        if abs(percent) > error
        else "no difference that these runs could show"
    )
    return f"{told}, without it ({plain(found[beside].title)}) at {words.gap_text(found[beside])}: {clear}."


def _draw_picture(variant: Variant) -> None:
    label, settings = PICTURES[variant.name]
    st.page_link(
        f"pages/{variant.page}.py",
        label=f"The picture that explains it: {label}",
        icon=":material/image:",
        query_params=link_params(**settings),
    )


def _choose(controls: Controls, variant: Variant, job: TrainJob | None) -> None:
    """Show a change, and train with it where there is a GPU."""
    controls.preset(**{CHANGE.key: variant.name})
    if job is not None:
        gpu_queue.submit(job)


def ended(variant: Variant, group: Group | None) -> str:
    """Where the runs with a change ended: above bf16, or from the runs that it is to show nothing beside.

    Empty where none is recorded that could be compared.
    """
    if group is None or len(group.bf16) < FEWEST:
        return ""
    changed, beside = (key_of(job) for job in (variant.job, variant.beside))
    if any(run.row.failure for run in group.of(changed)):
        return "Here: the run failed."
    found = {one.key: one for one in finals(group, [changed, beside])}
    if changed not in found:
        return ""
    if variant.shows is Shows.BREAKS or beside not in found:
        return f"Here: {words.gap_text(found[changed])} above bf16, {found[changed].verdict}."
    return f"Here: {words.signed(*apart(variant, group))} from {plain(found[beside].title)}."


def _draw_card(controls: Controls, variant: Variant, group: Group | None) -> None:
    job = job_for(variant_job(controls, variant), group)
    with st.container(border=True):
        st.markdown(f"**{variant.title}**")
        at_scale = sourced().at_scale[variant.name]
        st.markdown(f"{at_scale.found} {at_scale.link}.")
        if told := ended(variant, group):
            st.markdown(told)
        st.button(
            "Break it" if variant.shows is Shows.BREAKS else "Try it",
            key=f"loss_change_{variant.name}",
            on_click=_choose,
            args=(controls, variant, job if gpu_queue.workers().has_gpu else None),
            icon=":material/bolt:" if variant.shows is Shows.BREAKS else ":material/tune:",
        )
