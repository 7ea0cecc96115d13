"""The fields of a step of decoding, and the words on its bound."""

from kernels.bench.ceilings.peak_rates import PeakRates
from pages.kit.controls import Controls
from pages.kit.datasheet import GPU
from pages.kit.decoding.controls import BATCH, CONTEXT, MODEL, OWN, OWN_SIZES
from pages.kit.widgets import Place


def draw_sizes(controls: Controls, place: Place | None = None) -> str:
    """Draw the context in `place`, all others among the further fields; returns the model's key."""
    controls.draw(CONTEXT, place)
    model = controls.draw(MODEL)
    for control in OWN_SIZES if model == OWN else ():
        controls.draw(control)
    controls.draw(BATCH)
    controls.draw(GPU)
    return model


def bound_words(gpu: PeakRates) -> str:
    """The rule behind tokens per second, and what it leaves open."""
    return (
        f"Tokens per second: sequences · {gpu.memory_gb_s:,.0f} GB/s of the {gpu.name} / bytes read. This is "
        "a bound, not a measurement. It does not ask whether all this fits into one GPU's memory."
    )
