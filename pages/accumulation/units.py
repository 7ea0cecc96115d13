"""Section "The units": their bits, captured vectors against the models, a sweep on this GPU."""

from functools import partial

import streamlit as st

from fp8core.accumulators import ACCUMULATORS
from fp8core.accumulators.model import Accumulator, Evidence
from fp8core.experiments.dot_terms import TermKind
from fp8core.tiles import WHOLE
from kernels.paths import VECTORS
from kernels.probe.sweep import ProbeJob, ProbeRow, swept
from pages.accumulation.data import check_vectors
from pages.accumulation.facts import CHAIN, LONGEST_K, MODEL_BITS, OPERANDS, PROBE, draw_numbers
from pages.kit.charts.bars import Bar, bars
from pages.kit.charts.words import count, short
from pages.kit.computing.compute import Call, computed
from pages.kit.computing.pool import pool
from pages.kit.controls import Controls
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.inert import plain
from pages.kit.shared_controls import SEED
from pages.kit.tables import markdown_table
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room

INTRO = (
    "These outputs were captured on real GPUs and are shipped with the app. The model computes them again "
    "here, from the same operand codes, and every bit is compared. Operands: normal, wide, subnormal and all "
    "codes, NaN and infinity included; c zero, similar, large, small."
)
_SUM = ACCUMULATORS[CHAIN].out
FP22 = (
    f"The sums of Hopper's FP8 unit have {_SUM.bits} bits: a sign, {_SUM.exponent_bits} exponent bits "
    f"and {_SUM.mantissa_bits} mantissa bits. So many call them **fp{_SUM.bits}**. They lie in fp32 "
    "registers, whose other bits are 0."
)
BITS = "Fraction bits: what a step keeps below its largest term, and the format in which it stores the sum."
SWEEP = (
    "One sweep on the GPU sends the same operand codes through its tensor core, K by K: one Triton kernel, "
    "one block of outputs. Operands are the codes of the seeded numbers, without scales; the sum starts from "
    "0. The result is compared with the model as 32-bit patterns, any NaN equal to any NaN."
)


def show(controls: Controls) -> None:
    know = here().know
    _draw_vectors(controls)
    st.header("Every unit of this page")
    head = ("unit: what it multiplies", "fraction bits → sum", "products a step", "evidence")
    st.markdown(markdown_table(head, map(_unit_line, ACCUMULATORS.values()), "<"))
    _draw_sweep(controls)
    evidence = " ".join(f"**{one.name.lower()}**: {one.value}." for one in Evidence)
    sources = (f"- **{u.title}**: {u.step.value}. Source: {u.source}." for u in ACCUMULATORS.values())
    for text in (INTRO, FP22, f"{BITS} {evidence}", "\n".join(sources), SWEEP):
        know.markdown(text)


def _draw_vectors(controls: Controls) -> None:
    off = controls.draw(MODEL_BITS, here().control)
    files = sorted(VECTORS.glob("*.npz"))
    calls = [Call(check_vectors, (str(file), file.stat().st_mtime_ns, off)) for file in files]
    answer = computed("accumulation_vectors", off, calls, label="Comparing every captured output")
    for check in answer.parts if answer else ():
        equal, outputs = (sum(each) for each in zip(*check.operations.values(), strict=True))
        draw_notice(notice(equal, outputs, answer.arguments))
        lines = [
            Bar(
                name=title,
                pieces={"equal, bit for bit": 100 * same / of, "different": 100 * (of - same) / of},
                label=f"{same:,} of {of:,}",
            )
            for title, (same, of) in check.operations.items()
        ]
        draw_chart(
            bars(lines, dict.fromkeys(lines[0].pieces, ""), "% of the outputs", room(), page_ink()),
            key=f"accumulation_units_{check.where}",
            alt="Outputs that the model gives bit for bit: "
            + "; ".join(f"{line.name} {line.label}" for line in lines),
        )
        here().know.markdown(
            f"Captured on {plain(check.where)}; compared by this server in {short(check.seconds, 2)} s."
        )
    more = here().more
    more.button("Compare again", icon=":material/refresh:", on_click=pool().forget, args=(calls,))


def notice(equal: int, outputs: int, bits_off: int) -> str:
    words = f"**{equal:,} of {outputs:,} outputs** of a real GPU bit for bit."
    if bits_off == 0:
        return f"The model gives {words}"
    more = f"{count(abs(bits_off), 'fraction bit')} {'more' if bits_off > 0 else 'fewer'}"
    return f"With {more} than the unit has, it gives {words}"


def _unit_line(unit: Accumulator) -> tuple[str, ...]:
    operands = "anything" if unit.evidence is Evidence.DEFINITION else ", ".join(unit.operands)
    promotion = "" if unit.promotion is WHOLE else f", promoted every {unit.promotion}"
    sums = f"{unit.fraction_bits} → {unit.out.name}", f"{unit.fused_products}{promotion}"
    return f"**{unit.title}**: {operands}", *sums, unit.evidence.name.lower()


def _draw_sweep(controls: Controls) -> None:
    terms = draw_numbers(controls)
    operation, seed = swept(controls.draw(PROBE)), controls.draw(SEED)
    formats = {name: OPERANDS.options[name] for name in operation.accumulator.operands}
    job = ProbeJob(
        operation=operation.name,
        terms=TermKind(terms),
        format=controls.draw(OPERANDS, options=formats),
        seed=seed,
        longest=controls.draw(LONGEST_K),
    )
    st.header("On this server's GPU")
    label = f"Run {operation.title} on the GPU"
    gpu_queue.draw_run(label, partial(gpu_queue.submit, job), key="run_sweep", place=st)
    gpu_queue.draw_queue()
    row = next((row for row in gpu_queue.session().rows_of(ProbeRow) if row.job == job), None)
    if row is not None:
        st.markdown(verdict(row))


def verdict(row: ProbeRow) -> str:
    equal = row.outputs - row.mismatches
    versions = ", ".join(f"{name} {version}" for name, version in row.machine.versions.items())
    where = plain(f"GPU: {row.machine.name}, {row.date}, {versions}")
    if not row.mismatches:
        return f"✓ **{equal:,} of {row.outputs:,} outputs equal the model, bit for bit.** {where}."
    return (
        f"✗ **{equal:,} of {row.outputs:,} outputs equal the model.** First difference: "
        f"{plain(row.first_difference)}. {where}."
    )
