"""What two pages draw of a step of decoding: its sizes, and the words below its picture."""

import streamlit as st

from kernels.bench.ceilings.peak_rates import PeakRates
from pages.kit.controls import Controls
from pages.kit.datasheet import GPU
from pages.kit.decoding.controls import BATCH, CONTEXT, MODEL, OWN, OWN_SIZES


def draw_sizes(controls: Controls) -> str:
    """Draw the model and the GPU in the sidebar, the context and the sequences on the page; returns the
    model's key.
    """
    model = controls.draw(MODEL, st.sidebar)
    if model == OWN:
        for control in OWN_SIZES:
            controls.draw(control, st.sidebar)
    controls.draw(GPU, st.sidebar)
    row = st.container(horizontal=True)
    controls.draw(CONTEXT, row.container(width=420))
    controls.draw(BATCH, row.container(width=200))
    return model


def bound_words(gpu: PeakRates) -> str:
    """The rule behind tokens a second, and what it leaves open."""
    return (
        f"Tokens a second: sequences · {gpu.memory_gb_s:,.0f} GB/s of the {gpu.name} / bytes read. This is a "
        "bound, not a measurement. Whether all this fits into one GPU's memory is not asked."
    )
