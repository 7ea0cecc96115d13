"""The controls of the page "Accumulation"."""

from fp8core.accumulators import ACCUMULATORS, Evidence
from fp8core.accumulators.trace import is_traceable
from fp8core.experiments.dot_terms import OFFERED_TERMS, REAL_TERMS, TERM_NOTES, TermKind
from fp8core.inputs.recorded import source_of_seed
from kernels.probe.job import LONGEST, SHORTEST, SWEPT, swept
from pages.accumulation.charts.curves import BIAS, RMS
from pages.kit.charts.words import count
from pages.kit.controls import Controls
from pages.kit.shared_controls import SEED, format_options
from pages.kit.view import here
from pages.kit.widgets import Choice, ChoiceStyle, Place, Whole

SHOW = Choice(
    key="sum_show",
    label="Show",
    options={
        "steps": "One dot product",
        "curves": "Error against K",
        "cost": "Promotion's price",
        "units": "The units",
    },
    default="steps",
    moved={"measured": "units"},
)
TERMS = Choice(
    key="terms",
    label="Numbers",
    options={kind.value: TERM_NOTES[kind].title for kind in OFFERED_TERMS},
    default=TermKind.SAME_SIGN.value,
    style=ChoiceStyle.SELECT,
    help=" ".join(f"**{TERM_NOTES[kind].title}**: {TERM_NOTES[kind].rule}." for kind in OFFERED_TERMS),
)
UNIT = Choice(
    key="unit",
    label="Unit that adds",
    options={name: unit.title for name, unit in ACCUMULATORS.items() if is_traceable(unit)},
    default="hopper_fast",
    style=ChoiceStyle.SELECT,
    help="The units whose steps align all terms to one exponent. The others are under “Error against K”.",
)
_MULTIPLIED = {
    name
    for unit in ACCUMULATORS.values()
    if unit.evidence is not Evidence.DEFINITION
    for name in unit.operands
}
OPERANDS = Choice(
    key="operands",
    label="Format of a and b",
    options=format_options(lambda format_: format_.name in _MULTIPLIED),
    default="e4m3",
    style=ChoiceStyle.SELECT,
)
K_STEPPED = Choice(
    key="sum_k",
    label="K, products in all",
    options={k: str(k) for k in (SHORTEST << power for power in range(1, 5))},
    default=SHORTEST << 3,
)
STEP = Whole(key="step", label="Step", low=1, high=128, default=4)
ERROR = Choice(
    key="sum_error",
    label="Error",
    options={RMS: "Size (rms)", BIAS: "Bias (signed mean)"},
    default=RMS,
)
LONGEST_K = Choice(
    key="longest_k",
    label="Up to K =",
    options={k: f"K = {k:,}" for k in (LONGEST >> 4, LONGEST >> 2, LONGEST)},
    default=LONGEST >> 2,
)
MODEL_BITS = Choice(
    key="model_bits",
    label="Fraction bits of the model",
    options={
        0: "As many bits as the unit",
        **{
            off: f"{count(abs(off), 'bit')} {'more' if off > 0 else 'fewer'}" for off in (1, -1, 2, -2, 3, -3)
        },
    },
    default=0,
    style=ChoiceStyle.SELECT,
    help="Would the comparison notice a model that keeps other bits?",
)
PROBE = Choice(
    key="probe",
    label="Run",
    options={name: swept(name).title for name in SWEPT},
    default="wgmma",
    style=ChoiceStyle.SELECT,
)

ALL_CONTROLS = (
    SHOW,
    TERMS,
    SEED,
    UNIT,
    OPERANDS,
    K_STEPPED,
    STEP,
    ERROR,
    LONGEST_K,
    MODEL_BITS,
    PROBE,
)


def draw_numbers(controls: Controls, place: Place | None = None) -> str:
    """Draw the choice of the numbers and return it. For recorded ones, name the layer that the seed chose."""
    terms = controls.draw(TERMS, place)
    if TermKind(terms) in REAL_TERMS:
        here().know.caption(source_of_seed(controls.value(SEED)))
    return terms
