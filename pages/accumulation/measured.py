"""One sweep over K on this server's tensor core, drawn on the predicted line."""

import streamlit as st

from fp8core.accumulators.error_over_k import SumError
from fp8core.experiments.dot_terms import TermKind
from kernels.probe.job import ProbeJob, ProbeRow, swept
from pages.accumulation.charts.curves import RMS, Curve, Measured, curves_chart
from pages.accumulation.controls import LONGEST_K, OPERANDS, PROBE
from pages.accumulation.curves import EVIDENCE
from pages.accumulation.sweeps import Errors, errors_of_operation, lengths
from pages.accumulation.terms import draw_terms_choice
from pages.accumulation.words import percent
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.kit.controls import Controls
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.inert import plain
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.kit.view import here

NO_GPU = (
    "This server has no GPU. On a machine with a Hopper GPU, this button sends the same operand codes "
    "through its tensor core, K by K, and compares every bit with the model."
)
RULE = (
    "One sweep on the GPU: one Triton kernel, one block of outputs. Operands are the codes of the seeded "
    "numbers, without scales; the sum starts from 0. The result is compared with the model as 32-bit "
    "patterns, any NaN equal to any NaN."
)


def draw_measured(controls: Controls) -> None:
    """Draw the button, then the predicted line with what was measured on it."""
    job, has_gpu = draw_job(controls), gpu_queue.workers().has_gpu
    st.header("On this server's GPU")
    st.button(
        f"Run {swept(job.operation).title} on the GPU",
        type="primary",
        icon=":material/play_arrow:",
        key="run_sweep",
        on_click=gpu_queue.submit,
        args=(job,),
        disabled=not has_gpu,
    )
    here().know.markdown(RULE)
    if not has_gpu:
        st.caption(NO_GPU)
        return
    gpu_queue.draw_queue()
    row = next((row for row in gpu_queue.session().rows_of(ProbeRow) if row.job == job), None)
    if row is not None:
        st.markdown(verdict(row))
    call = Call(errors_of_operation, (job.operation, job.terms.value, job.format, job.lengths[-1], job.seed))
    shown = computed("accumulation_measured", (job, row), [call], doing="Adding in the model")
    if shown is not None and any(error.rms for error in shown.parts[0]):
        draw_chart(
            chart(*shown.asked, shown.parts[0]),
            key="accumulation_measured",
            is_rigid=True,
            alt=alt_text(row, shown.parts[0]),
        )


def draw_job(controls: Controls) -> ProbeJob:
    """Draw the controls and return the sweep that they describe."""
    terms = draw_terms_choice(controls)
    operation, seed = controls.draw(PROBE), controls.draw(SEED)
    formats = {name: OPERANDS.options[name] for name in swept(operation).accumulator.operands}
    return ProbeJob(
        operation=operation,
        terms=TermKind(terms),
        format=controls.draw(OPERANDS, options=formats),
        seed=seed,
        lengths=lengths(controls.draw(LONGEST_K)),
    )


def chart(job: ProbeJob, row: ProbeRow | None, errors: Errors) -> Filled:
    """The predicted line, with rings where the device's errors lie."""
    operation = job.operation_data
    line = Curve(
        name=f"predicted: {operation.title}",
        evidence=EVIDENCE[operation.accumulator.evidence],
        errors=errors,
    )
    rings = None
    if row is not None:
        points = tuple(SumError(k=p.k, rms=p.rms, bias=p.bias) for p in row.points)
        rings = Measured(name=f"{row.machine.name}, {row.date}", points=points)
    return curves_chart([line], RMS, room(), INKS[theme()], rings)


def verdict(row: ProbeRow) -> str:
    """A sentence on how many sums equal the model, with the machine that ran it."""
    equal = row.outputs - row.mismatches
    versions = ", ".join(f"{name} {version}" for name, version in row.machine.versions.items())
    where = plain(f"GPU: {row.machine.name}, {row.date}, {versions}")
    if not row.mismatches:
        return f"✓ **{equal:,} of {row.outputs:,} outputs equal the model, bit for bit.** {where}."
    return (
        f"✗ **{equal:,} of {row.outputs:,} outputs equal the model.** First difference: "
        f"{plain(row.first_difference)}. {where}."
    )


def alt_text(row: ProbeRow | None, errors: Errors) -> str:
    """The chart in words."""
    last = errors[-1]
    told = f"predicted rms error {percent(last.rms)} at K = {last.k:,}"
    return told if row is None else f"{told}; measured {percent(row.points[-1].rms)}"
