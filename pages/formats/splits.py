"""Why not eight bits of bf16? Every split of seven bits between exponent and mantissa, on scaled numbers."""

from functools import cache

import numpy as np
import streamlit as st

from fp8core.errors import rel_err, sqnr_db
from fp8core.formats import FORMATS
from fp8core.formats.float_format import FloatFormat, Specials
from fp8core.inputs import INPUT_NOTES, InputKind, draw
from pages.formats.charts.splits import Row, splits_chart
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.shell import theme
from pages.kit.terms.explain import draw_text
from pages.kit.view import here

SHAPE, SEED = (64, 128), 0
KINDS = (InputKind.GAUSSIAN, InputKind.GRADIENT_LIKE, InputKind.OUTLIER_CHANNELS)
BITS = 8


def draw_splits() -> None:
    """Draw the question, the answer in figures, and SQNR of every split."""
    st.header("Why not eight bits of bf16?")
    rows = split_rows()
    draw_chart(
        splits_chart(rows, INKS[theme()]),
        key="formats_splits",
        alt="SQNR of each split of eight bits: "
        + ", ".join(
            f"{row['split']} {row['sqnr']:.1f} dB" for row in rows if row["kind"] == _title(KINDS[0])
        ),
    )
    draw_text(words(), here().know)
    here().know.caption(
        f"{SHAPE[0] * SHAPE[1]:,} seeded numbers of each kind (seed {SEED}), one exact scale for all, which "
        "puts amax on the largest value. No code is spent on infinity or NaN. SQNR counts energy: for the "
        "small numbers, point at a split and see how many become 0."
    )


def split(exponent_bits: int) -> FloatFormat:
    """A format of eight bits with so many exponent bits, and no special codes."""
    mantissa_bits = BITS - 1 - exponent_bits
    return FloatFormat(
        name=f"E{exponent_bits}M{mantissa_bits}",
        exponent_bits=exponent_bits,
        mantissa_bits=mantissa_bits,
        bias=(1 << (exponent_bits - 1)) - 1,
        specials=Specials.NONE,
    )


@cache
def split_rows() -> tuple[Row, ...]:
    """A row a split and kind of numbers."""
    rows = []
    for kind in KINDS:
        x = draw(kind, SHAPE, SEED).astype(np.float64)
        for format_ in map(split, range(1, BITS)):
            scale = np.abs(x).max() / format_.max
            read = format_.decode(format_.encode(x / scale)) * scale
            rows.append(
                {
                    "split": format_.name,
                    "kind": _title(kind),
                    "sqnr": sqnr_db(rel_err(read, x)),
                    "zeros": float(((read == 0) & (x != 0)).mean()),
                }
            )
    return tuple(rows)


def words() -> str:
    """The answer, with figures of the Gaussian numbers."""
    found = {row["split"]: row["sqnr"] for row in split_rows() if row["kind"] == _title(KINDS[0])}
    whole, widest, usual = FORMATS["bf16"], split(BITS - 1), split(FORMATS["e4m3"].exponent_bits)
    return (
        "bf16 is the upper half of fp32. Its own upper half would be a sign and "
        f"{widest.exponent_bits} of its {whole.exponent_bits} exponent bits, and no mantissa bit. At "
        "best each number then becomes a power of two: on Gaussian numbers that leaves "
        f"{found[widest.name]:.1f} dB of SQNR, where {usual.name} has {found[usual.name]:.1f} dB. "
        "A **scale** moves numbers to where the format is. So the wide range of bf16 is not needed in each "
        "code, and its bits are better spent on the mantissa."
    )


def _title(kind: InputKind) -> str:
    return INPUT_NOTES[kind].title
