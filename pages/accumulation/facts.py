"""Controls of the page "Accumulation", figures of errors in words, and facts for the lesson."""

import math

from fp8core.accumulators import ACCUMULATORS, Evidence
from fp8core.accumulators.error_over_k import SumError, promotions_per_flop
from fp8core.accumulators.trace import is_traceable
from fp8core.experiments.dot_terms import OFFERED_TERMS, REAL_TERMS, TERM_NOTES, TermKind
from fp8core.inputs.recorded import source_of_seed
from kernels.probe.sweep import LONGEST, SHORTEST, SWEPT, swept
from pages.accumulation.charts.curves import BIAS, RMS
from pages.accumulation.charts.steps import LARGEST_START
from pages.accumulation.data import NEVER, cut_short, errors, traced
from pages.kit.charts.words import count, percent_text, power_of_two, short
from pages.kit.controls import Controls
from pages.kit.shared_controls import SEED, format_options
from pages.kit.view import here
from pages.kit.widgets import Choice, Place, Select, Settings, Whole

SHOW = Choice(
    key="sum_show",
    label="Show",
    options={
        "steps": "One dot product",
        "curves": "Error against K",
        "cost": "Promotion's price",
        "units": "The units",
    },
    moved={"measured": "units"},
)
TERMS = Select(
    key="terms",
    label="Numbers",
    options={kind.value: TERM_NOTES[kind].title for kind in OFFERED_TERMS},
    default=TermKind.SAME_SIGN.value,
    help=" ".join(f"**{TERM_NOTES[kind].title}**: {TERM_NOTES[kind].rule}." for kind in OFFERED_TERMS),
)
UNIT = Select(
    key="unit",
    label="Unit that adds",
    options={name: unit.title for name, unit in ACCUMULATORS.items() if is_traceable(unit)},
    default="hopper_fast",
    help="The units whose steps align all terms to one exponent. The others are under “Error against K”.",
)
_OPERANDS = {
    name
    for unit in ACCUMULATORS.values()
    if unit.evidence is not Evidence.DEFINITION
    for name in unit.operands
}
OPERANDS = Select(
    key="operands",
    label="Format of a and b",
    options=format_options(lambda format_: format_.name in _OPERANDS),
    default="e4m3",
)
TRACE_K = Choice(
    key="sum_k",
    label="K, products in all",
    options={k: str(k) for k in (SHORTEST << power for power in range(1, 5))},
    default=SHORTEST << 3,
)
START = Select(
    key="sum_start",
    label="c starts with",
    options={0: "0", **{power: power_of_two(power) for power in range(1, LARGEST_START + 1)}},
    help="What the products are added to. In the picture, pull c up.",
)
STEP = Whole(key="step", label="Step", low=1, high=128, default=4)
ERROR = Choice(key="sum_error", label="Error", options={RMS: "Size (rms)", BIAS: "Bias (signed mean)"})
LONGEST_K = Choice(
    key="longest_k",
    label="Up to K =",
    options={k: f"K = {k:,}" for k in (LONGEST >> 4, LONGEST >> 2, LONGEST)},
    default=LONGEST >> 2,
)
MODEL_BITS = Select(
    key="model_bits",
    label="Fraction bits of the model",
    options={
        0: "As many bits as the unit",
        **{
            off: f"{count(abs(off), 'bit')} {'more' if off > 0 else 'fewer'}" for off in (1, -1, 2, -2, 3, -3)
        },
    },
    help="Would the comparison notice a model that keeps other bits?",
)
PROBE = Select(key="probe", label="Run", options={name: swept(name).title for name in SWEPT}, default="wgmma")

CONTROLS = (SHOW, TERMS, SEED, UNIT, OPERANDS, TRACE_K, START, STEP, ERROR, LONGEST_K, MODEL_BITS, PROBE)


def draw_numbers(controls: Controls, place: Place | None = None) -> str:
    """Draw the choice of the numbers; recorded ones come with the name of their layer."""
    terms = controls.draw(TERMS, place)
    if TermKind(terms) in REAL_TERMS:
        here().know.caption(source_of_seed(controls.value(SEED)))
    return terms


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_GAP = "\N{NO-BREAK SPACE}"


def percent(share: float) -> str:
    """A percentage, such as ``0.16%`` or ``1.7 · 10⁻⁵%``."""
    value = 100 * share
    if value == 0 or abs(value) >= 1e-3:
        return percent_text(share, 2)
    exponent = math.floor(math.log10(abs(value)))
    power = str(exponent).translate(_SUPERSCRIPTS)
    return f"{short(value / 10**exponent, 2)}{_GAP}·{_GAP}10{power}%"


def side(bias: float) -> str:
    return "toward zero" if bias < 0 else "away from zero"


CHAIN, PROMOTED, BLACKWELL = "hopper_fast", "hopper_promoted", "blackwell_fp8"


def start_of(power: int) -> float:
    return 2.0**power if power else 0.0


def _cut_count(settings: Settings) -> int:
    product = (settings[control.key] for control in (UNIT, TERMS, OPERANDS, TRACE_K, SEED))
    return cut_short(traced(*product, start_of(settings[START.key])))


def _last(settings: Settings, unit: str = CHAIN, terms: str = "") -> SumError:
    of_all = settings[OPERANDS.key], settings[LONGEST_K.key], settings[SEED.key]
    return errors(unit, NEVER, terms or settings[TERMS.key], *of_all)[-1]


def chain_side(settings: Settings) -> str:
    last = _last(settings)
    return "both" if abs(last.bias) < last.rms / 2 else "small" if last.bias < 0 else "large"


FACTS = {
    "k": lambda settings: settings[TRACE_K.key],
    "longest_k": lambda settings: settings[LONGEST_K.key],
    "fraction_bits": lambda settings: ACCUMULATORS[settings[UNIT.key]].fraction_bits,
    "chain_fraction_bits": lambda _: ACCUMULATORS[CHAIN].fraction_bits,
    "fp32_fraction_bits": lambda _: ACCUMULATORS["fp32"].fraction_bits,
    "blackwell_fraction_bits": lambda _: ACCUMULATORS[BLACKWELL].fraction_bits,
    "products_a_step": lambda settings: ACCUMULATORS[settings[UNIT.key]].fused_products,
    "promotion": lambda _: ACCUMULATORS[PROMOTED].promotion,
    "cut_count": _cut_count,
    "cut_share": lambda settings: _cut_count(settings) / settings[TRACE_K.key],
    "chain_error": lambda settings: _last(settings).rms,
    "chain_bias": lambda settings: abs(_last(settings).bias),
    "chain_side": chain_side,
    "promoted_error": lambda settings: _last(settings, PROMOTED).rms,
    "promoted_percent": lambda settings: 100 * _last(settings, PROMOTED).rms,
    "blackwell_error": lambda settings: _last(settings, BLACKWELL).rms,
    # The error of one chain on numbers of one sign, over that on the chosen numbers.
    "same_sign_ratio": lambda settings: (
        _last(settings, terms=TermKind.SAME_SIGN.value).rms / _last(settings).rms
    ),
    # The fp32 additions of promotion in 1,000 FLOP.
    "promotion_price": lambda _: 1000 * promotions_per_flop(ACCUMULATORS[PROMOTED].promotion),
}
