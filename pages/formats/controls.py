"""Controls that the sections of the page "Formats" share, and a format of the reader's own."""

import streamlit as st

from fp8core.formats import FORMATS, Format
from fp8core.formats.float_format import FloatFormat, Specials
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.widgets import Choice, Select, Settings, Several, Whole

OWN = "own"
_PUBLISHED: dict[str, dict[str, str]] = {
    "OCP FP8": {"e4m3": "E4M3", "e5m2": "E5M2"},
    "FP8 FNUZ, AMD": {"e4m3fnuz": "E4M3 FNUZ", "e5m2fnuz": "E5M2 FNUZ"},
    "8 bits, IEEE style": {"e4m3_ieee": "E4M3 IEEE", "e3m4_ieee": "E3M4 IEEE"},
    "IEEE binary8": {
        "binary8p3se": "P3109 p3se",
        "binary8p3sf": "P3109 p3sf",
        "binary8p4se": "P3109 p4se",
        "binary8p4sf": "P3109 p4sf",
        "binary8p5se": "P3109 p5se",
        "binary8p5sf": "P3109 p5sf",
    },
    "8 bits, other": {"hif8": "HiF8", "mxint8": "MXINT8", "e8m0": "E8M0"},
    "6 and 4 bits": {"e3m2": "E3M2", "e2m3": "E2M3", "e2m1": "E2M1", "uniform4": "Uniform E1M2"},
    "16 bits and more": {"fp16": "fp16", "bf16": "bf16", "tf32": "tf32", "e8m13": "E8M13", "fp32": "fp32"},
}
_NAMES = {name for group in _PUBLISHED.values() for name in group}
GROUPS: dict[str, dict[str, str]] = {
    **_PUBLISHED,
    "others": {name: name for name in FORMATS if name not in _NAMES},
    "Yours": {OWN: "Your own ExMy"},
}
TITLES = {name: title for group in GROUPS.values() for name, title in group.items()}
OPTIONS = {name: f"{title} · {group}" for group, names in GROUPS.items() for name, title in names.items()}

SHOW = Choice(
    key="formats",
    label="Show",
    options={
        "code": "One code",
        "compare": "Formats compared",
        "gradients": "fp16 or bf16",
        "overflow": "Overflow",
    },
    moved={"run": "overflow"},
)
OWN_EXPONENT = Whole(key="own_exponent", label="Exponent bits", low=0, high=8, default=3)
OWN_MANTISSA = Whole(key="own_mantissa", label="Mantissa bits", low=0, high=23, default=4)
OWN_BIAS = Whole(
    key="own_bias",
    label="Bias",
    low=-300,
    high=300,
    default=3,
    help="Subtracted from the exponent field. Half the field's range, 2^(E − 1) − 1, is usual.",
)
OWN_SPECIALS = Select(
    key="own_specials",
    label="Special codes",
    options={specials.name.lower(): specials.value for specials in Specials},
    default=Specials.NAN_ONLY.name.lower(),
)
OWN_CONTROLS = (OWN_EXPONENT, OWN_MANTISSA, OWN_BIAS, OWN_SPECIALS)


def format_of(name: str, settings: Settings) -> Format:
    """The format of a choice. Raises ValueError for an impossible one of the reader's own."""
    if name != OWN:
        return FORMATS[name]
    exponent_bits, mantissa_bits, bias, specials = (settings[control.key] for control in OWN_CONTROLS)
    return FloatFormat(
        name=f"your E{exponent_bits}M{mantissa_bits}",
        exponent_bits=exponent_bits,
        mantissa_bits=mantissa_bits,
        bias=bias,
        specials=Specials[specials.upper()],
    )


def draw_own(controls: Controls) -> None:
    for control in OWN_CONTROLS:
        controls.draw(control)


def draw_formats(controls: Controls, control: Several) -> dict[str, Format]:
    """Draw a choice of formats and return them by title; an impossible one is an error on the page."""
    names = controls.draw(control)
    if OWN in names:
        draw_own(controls)
    formats = {}
    for name in sorted(names, key=[*TITLES].index):
        try:
            format_ = format_of(name, controls.values())
            formats[format_.name if name == OWN else TITLES[name]] = format_
        except ValueError as error:
            st.error(plain(sentence(error)))
    if not formats:
        st.info("Choose at least one format.")
    return formats


def sentence(error: ValueError) -> str:
    text = str(error).rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."
