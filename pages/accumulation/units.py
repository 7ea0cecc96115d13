"""Section "The units": the bits that each keeps, and the captured vectors that check the models."""

import streamlit as st

from fp8core.accumulators import ACCUMULATORS
from fp8core.accumulators.model import Accumulator, Evidence
from fp8core.tiles import WHOLE
from kernels.paths import VECTORS
from pages.accumulation.charts.checks import checks_chart
from pages.accumulation.controls import MODEL_BITS
from pages.accumulation.directions import fp22_words
from pages.accumulation.measured import draw_measured
from pages.accumulation.vectors import Check, checked
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import count as count_of
from pages.kit.charts.words import short
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call, pool
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here

INTRO = (
    "These outputs were captured on real silicon and are shipped with the app. The model computes them again "
    "here, from the same operand codes, and every bit is compared. Operands: normal, wide, subnormal and all "
    "codes, NaN and infinity included; c zero, similar, large, small."
)


def show(controls: Controls) -> None:
    """Draw the check of the vectors, the table of units, and a sweep on this server's GPU."""
    know = here().know
    _vectors(controls)
    st.header("Every unit of this page")
    st.markdown(unit_table())
    draw_measured(controls)
    know.markdown(INTRO)
    know.markdown(fp22_words())
    know.markdown(
        "Fraction bits: what a step keeps below its largest term, and the format in which it stores the sum. "
        + " ".join(f"**{_word(evidence)}**: {evidence.value}." for evidence in Evidence)
    )
    know.markdown(
        "\n".join(f"- **{u.title}**: {u.step.value}. Source: {u.source}." for u in ACCUMULATORS.values())
    )
    know.markdown(
        "**Settled on an H200 (2026-11-20).** `tl.dot` of 64 rows or more is one chain of wgmma, with A in "
        "shared memory or in registers alike. With fewer rows Triton falls back to fp16 `mma.sync`, which "
        "takes the products with k mod 4 in {0, 1} of each run first. `torch._scaled_mm` is one chain with "
        f"`use_fast_accum=True`; with `False` it is {_promoted_words()}. For few outputs and a long "
        "K cuBLAS cuts K into runs of whole tiles, each one chain, and adds these in fp32."
    )


def _vectors(controls: Controls) -> None:
    off = controls.draw(MODEL_BITS, here().control)
    files = sorted(VECTORS.glob("*.npz"))
    if not files:
        st.info("No captured vectors are shipped with this copy of the app.")
    calls = [Call(checked, (str(file), file.stat().st_mtime_ns, off)) for file in files]
    shown = computed("accumulation_vectors", off, calls, doing="Comparing every captured output")
    for check in shown.parts if shown else ():
        if isinstance(check, str):
            st.warning(f"{plain(check)}. It is left out.", icon=":material/rule:")
            continue
        draw_notice(verdict(check, shown.asked))
        draw_chart(
            checks_chart(
                [(one.title, one.equal, one.outputs) for one in check.operations], room(), INKS[theme()]
            ),
            key=f"accumulation_units_{check.where}",
            is_rigid=True,
            alt="Outputs that the model gives bit for bit: "
            + "; ".join(f"{one.title} {one.equal:,} of {one.outputs:,}" for one in check.operations),
        )
        here().know.markdown(
            f"Captured on {plain(check.where)}; compared by this server in {short(check.seconds, 2)} s."
        )
    if files:
        again = here().more
        again.button("Compare again", icon=":material/refresh:", on_click=pool().forget, args=(calls,))


def verdict(check: Check, bits_off: int) -> str:
    """A sentence on how many captured outputs the model reproduces."""
    told = f"**{check.equal:,} of {check.outputs:,} outputs** of a real GPU bit for bit."
    if bits_off == 0:
        return f"The model gives {told}"
    word = f"{count_of(abs(bits_off), 'fraction bit')} {'more' if bits_off > 0 else 'fewer'}"
    return f"With {word} than the unit has, it gives {told}"


def unit_table() -> str:
    """A line for each unit."""
    lines = [
        "| unit: what it multiplies | fraction bits → sum | products a step | evidence |",
        "|:--|:--|:--|:--|",
    ]
    lines += [_unit_line(unit) for unit in ACCUMULATORS.values()]
    return "\n".join(lines)


def _unit_line(unit: Accumulator) -> str:
    operands = "anything" if unit.evidence is Evidence.DEFINITION else ", ".join(unit.operands)
    promotion = "" if unit.promotion is WHOLE else f", promoted every {unit.promotion}"
    return (
        f"| **{unit.title}**: {operands} | {unit.fraction_bits} → {unit.out.name} "
        f"| {unit.fused_products}{promotion} | {_word(unit.evidence)} |"
    )


def _promoted_words() -> str:
    """A sentence on the unit behind torch's slow accumulation, from its data."""
    return f"promoted every {ACCUMULATORS['hopper_promoted'].promotion} products"


def _word(evidence: Evidence) -> str:
    return evidence.name.lower()
