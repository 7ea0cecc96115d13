"""Controls of the GEMM to run, and facts of its recorded row for the lesson."""

from dataclasses import replace
from functools import partial

import streamlit as st

from fp8core.inputs import InputKind, rules
from fp8core.linear import MATMULS, Axis, Matmul
from kernels.device import HOPPER, Unsupported
from kernels.gemm.numerics import REFOLDED_WORDS, Summation, numerics_of
from kernels.measure.jobs import MAX_DIM, MAX_RUNS, STANDARD, GemmJob
from kernels.measure.rows import Peer, Row
from pages.kit import address
from pages.kit.controls import Controls
from pages.kit.gemm.presets import PRESETS, SMALL, refusal
from pages.kit.shared_controls import (
    INPUT_TITLES,
    MATMUL,
    OWN,
    RECIPE,
    RECIPE_CONTROLS,
    SEED,
    draw_recipe,
    input_help,
    recipe_values,
)
from pages.kit.view import here
from pages.kit.widgets import Place, Select, Settings, Text, Whole
from pages.live_gemm.results import is_answer, recorded


class _Dim(Whole):
    """M, N or K. Its label names the axis of the layer."""

    def narrow(self, *, axis: Axis) -> "_Dim":
        suffix = ", summed" if self.key == "k" else ""
        return replace(self, label=f"{self.label}: {axis.value}{suffix}")


M, N, K = (
    _Dim(key=letter, label=letter.upper(), low=1, high=MAX_DIM, default=size, step=256)
    for letter, size in zip("mnk", STANDARD[0], strict=True)
)
INPUT = Select(
    key="a_input",
    label="Input",
    options=INPUT_TITLES,
    default=InputKind.GAUSSIAN.value,
    help=f"The distribution of x, w and dy. {input_help(rules)}",
)
ACCUMULATION = Select(
    key="accumulation",
    label="Accumulation",
    options={
        Summation.RECIPE.value: "As in the recipe",
        Summation.FAST.value: "Fast",
        Summation.PROMOTED.value: "Promoted",
        Summation.REFOLDED.value: REFOLDED_WORDS.capitalize(),
    },
    help="Fast leaves the sum over all of K to the tensor core, which on Hopper keeps only some of fp32's "
    "bits (`use_fast_accum=True` in torch). Promoted takes a partial sum out at fixed steps along K "
    "and adds these in fp32. Refolded is for MXFP8 on a tensor core that takes no scales. A pass of "
    "its own first merges the scales in a longer line of A, or in a square of B, into one. Its time "
    "counts. Values far below the largest there are rounded again.",
)
RUNS = Whole(
    key="runs",
    label="Timed runs",
    low=1,
    high=MAX_RUNS,
    default=20,
    help="The time shown is their median; its whisker runs from the 20th to the 80th percentile.",
)
ELEMENT = Text(
    key="element",
    label="An element of D, whose sum is shown",
    longest=15,
    default="",
    placeholder="row.column, such as 3.7",
)
CONTROLS = (*RECIPE_CONTROLS, MATMUL, M, N, K, INPUT, SEED, ACCUMULATION, RUNS, ELEMENT)


_SHAPE = "gemm_shape"


def draw_job(controls: Controls) -> GemmJob:
    view = here()
    matmul = MATMULS[controls.draw(MATMUL, view.sections)]
    recipe = draw_recipe(controls, view.control)
    _draw_shape(controls, matmul, view.control)
    for control, axis in ((M, matmul.m), (N, matmul.n), (K, matmul.k)):
        controls.draw(control, axis=axis)
    controls.draw(INPUT)
    controls.draw(SEED)
    # Refolding is only for a recipe whose scales fold.
    options = dict(ACCUMULATION.options)
    if isinstance(numerics_of(recipe.spec(matmul), HOPPER, Summation.REFOLDED), Unsupported):
        del options[Summation.REFOLDED.value]
    accumulation = controls.draw(ACCUMULATION, options=options)
    controls.draw(RUNS)
    return _job(controls.values() | recipe_values(controls) | {ACCUMULATION.key: accumulation})


def _job(settings: Settings) -> GemmJob:
    return GemmJob(
        **{control.key: settings[control.key] for control in (RECIPE, OWN, MATMUL, M, N, K, SEED, RUNS)},
        input=InputKind(settings[INPUT.key]),
        accumulation=Summation(settings[ACCUMULATION.key]),
    )


def _draw_shape(controls: Controls, matmul: Matmul, place: Place) -> None:
    shapes = {preset.label: preset.mnk(matmul) for preset in PRESETS}
    now = {control.key: controls.value(control) for control in (M, N, K)}
    other = " × ".join(map(str, now.values()))
    label = next((name for name, shape in shapes.items() if shape == now), other)
    address.set_widget(_SHAPE, label)
    place.container(width=204).selectbox(
        "Shape, M × N × K",
        list(dict.fromkeys([*shapes, label])),
        key=_SHAPE,
        on_change=address.unless_late(_SHAPE, partial(_take_shape, controls, shapes)),
    )


def _take_shape(controls: Controls, shapes: dict[str, dict[str, int]]) -> None:
    if (shape := shapes.get(st.session_state.get(_SHAPE) or "")) is not None:
        controls.preset(**shape)


def _row(settings: Settings) -> Row:
    job = _job(settings)
    rows = (result.row for result in recorded(job) if is_answer(result.row, job))
    if (row := next(rows, None)) is None:
        raise ValueError(f"no row of {job.recipe} is recorded for {job.m} × {job.n} × {job.k}")
    return row


FACTS = {
    "machine": lambda settings: _row(settings).machine.name,
    "date": lambda settings: _row(settings).date,
    "times_bf16": lambda settings: _row(settings).over(Peer.BF16) or 0.0,
    "rel_err": lambda settings: _row(settings).errors.rel_err,
    "kernel_rel_err": lambda settings: _row(settings).errors.kernel_rel_err,
    "kernel_share": lambda settings: _row(settings).errors.kernel_rel_err / _row(settings).errors.rel_err,
}


def small_instead(job: GemmJob, *, has_gpu: bool) -> dict[str, int] | None:
    """M, N and K with which a refused job runs; None where its shape is not the reason."""
    small = SMALL.mnk(job.matmul_data)
    return small if refusal(replace(job, **small), has_gpu=has_gpu) is None else None
