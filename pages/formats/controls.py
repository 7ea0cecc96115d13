"""The controls of the page "Formats"."""

from fp8core.experiments.scaled_run import LOG2_SCALES
from fp8core.formats import FORMATS, Format
from fp8core.formats.float_format import FloatFormat, Specials
from fp8core.rounding import Overflow, Rounding
from pages.formats.charts import compare as formats_compare
from pages.kit.controls import Controls
from pages.kit.widgets import Choice, ChoiceStyle, NumberStyle, Several, Text, Toggle, Whole

OWN = "own"
_NAMED: dict[str, dict[str, str]] = {
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
    "16 bits and more": {
        "fp16": "fp16",
        "bf16": "bf16",
        "tf32": "tf32",
        "e8m13": "E8M13",
        "fp32": "fp32",
    },
}
_NAMES = {name for group in _NAMED.values() for name in group}
GROUPS: dict[str, dict[str, str]] = {
    **_NAMED,
    "others": {name: name for name in FORMATS if name not in _NAMES},
    "Yours": {OWN: "Your own ExMy"},
}
TITLES: dict[str, str] = {name: title for group in GROUPS.values() for name, title in group.items()}
_OPTIONS = {name: f"{title} · {group}" for group, names in GROUPS.items() for name, title in names.items()}

SHOW = Choice(
    key="formats",
    label="Show",
    options={
        "code": "One code",
        "compare": "Formats compared",
        "gradients": "fp16 or bf16",
        "overflow": "Overflow",
    },
    default="code",
    moved={"run": "overflow"},
)
FORMAT = Choice(
    key="code_format",
    label="Format",
    options=_OPTIONS,
    default="e4m3",
    style=ChoiceStyle.SELECT,
    help="How the bits are read. ExMy has x exponent bits and y mantissa bits; one more bit is the sign. "
    "P3109's p counts the mantissa's bits and the implied one; s: signed, e: with infinities, f: finite. "
    "E8M0 has no sign: it is the scale of a block. E8M13 is what Hopper's FP8 sums keep.",
)
NUMBER = Text(
    key="number",
    label="A number, or a code in hex",
    default="0.3",
    longest=40,
    placeholder="0.3",
    help="A number such as 0.3, -1e-3, 1/3, 2^-9, inf or nan is rounded to a code. "
    "0x2a or 0b101010 is the code itself.",
)
ROUNDING = Choice(
    key="rounding",
    label="Rounding",
    options={
        "nearest_even": "nearest, ties to even",
        "nearest_away": "nearest, ties away",
        "toward_zero": "toward zero",
        "stochastic": "stochastic",
    },
    default="nearest_even",
    style=ChoiceStyle.SELECT,
    help=(
        "A number between two values becomes one of them: which one? IEEE 754 and the FP8 casts of GPUs use "
        "ties to even."
    ),
)
OVERFLOW = Choice(
    key="overflow",
    label="Too large becomes",
    options={"saturate": "the largest value", "inf": "infinity", "nan": "NaN"},
    default="saturate",
    style=ChoiceStyle.SELECT,
    help=(
        "The result for a number that rounds beyond the largest value. A format offers only the results "
        "that it has a code for."
    ),
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
OWN_SPECIALS = Choice(
    key="own_specials",
    label="Special codes",
    options={specials.name.lower(): specials.value for specials in Specials},
    default=Specials.NAN_ONLY.name.lower(),
    style=ChoiceStyle.SELECT,
)
OWN_CONTROLS = (OWN_EXPONENT, OWN_MANTISSA, OWN_BIAS, OWN_SPECIALS)
NEAR = Toggle(
    key="near",
    label="Enlarge the codes around the chosen one",
    help="On a telephone the cells of all codes are too small for numbers.",
)
COMPARED = Several(
    key="compared",
    label="Formats",
    options=TITLES,
    default=["e4m3", "e5m2", "hif8", "mxint8", "e2m3", "e2m1", "fp16"],
)
AXIS = Choice(
    key="axis",
    label="Axis",
    options={"log": "logarithmic", "linear": "linear", "count": "per power of two"},
    default="log",
)
AXIS_TOP = Whole(
    key="axis_top",
    label="log2 of the linear axis' end",
    low=formats_compare.LOWEST,
    high=formats_compare.HIGHEST,
    default=formats_compare.START,
)
LOSS_SCALE = Whole(key="loss_scale", label="log2 of the loss scale", low=0, high=30, default=0)
OVERFLOWING = Several(
    key="overflowing",
    label="Formats",
    options=TITLES,
    default=["e4m3", "e5m2", "e4m3fnuz", "binary8p4se", "hif8", "e2m1"],
)
RUN_FORMAT = Choice(
    key="run_format",
    label="Gradients in",
    options={name: TITLES[name] for name in ("fp16", "e5m2", "e4m3")},
    default="e5m2",
)
RUN_BEYOND = Choice(
    key="run_beyond",
    label="Too large becomes",
    options={"special": "infinity or NaN", "saturate": "the largest value"},
    default="special",
)
RUN_SCALE = Whole(
    key="run_scale",
    label="log2 of the gradients' scale",
    low=LOG2_SCALES[0],
    high=LOG2_SCALES[-1],
    default=0,
    style=NumberStyle.SLIDER,
)

ALL_CONTROLS = (
    SHOW,
    FORMAT,
    NUMBER,
    ROUNDING,
    OVERFLOW,
    *OWN_CONTROLS,
    NEAR,
    COMPARED,
    AXIS,
    AXIS_TOP,
    LOSS_SCALE,
    OVERFLOWING,
    RUN_FORMAT,
    RUN_BEYOND,
    RUN_SCALE,
)

OwnFields = tuple[int, int, int, str]
"""Exponent bits, mantissa bits, bias and the name of the special codes."""


def own_fields(controls: Controls) -> OwnFields:
    """The reader's own format, as the controls describe it."""
    return (
        controls.value(OWN_EXPONENT),
        controls.value(OWN_MANTISSA),
        controls.value(OWN_BIAS),
        controls.value(OWN_SPECIALS),
    )


def format_of(name: str, own: OwnFields) -> Format:
    """The format a choice stands for. Raises ValueError where the reader's own is impossible."""
    if name != OWN:
        return FORMATS[name]
    exponent_bits, mantissa_bits, bias, specials = own
    return FloatFormat(
        name=f"your E{exponent_bits}M{mantissa_bits}",
        exponent_bits=exponent_bits,
        mantissa_bits=mantissa_bits,
        bias=bias,
        specials=Specials[specials.upper()],
    )


def rounding_of(choice: str) -> Rounding:
    return Rounding[choice.upper()]


def overflow_of(choice: str) -> Overflow:
    return Overflow[choice.upper()]


def policies(format_: Format) -> dict[str, str]:
    """The options of OVERFLOW that a format has codes for."""
    return {policy.name.lower(): OVERFLOW.options[policy.name.lower()] for policy in format_.overflows}
