"""The controls of the page "Scaling"."""

from collections.abc import Callable
from dataclasses import dataclass

from fp8core.experiments.amax_series import OFFERED_SERIES, SERIES_NOTES, SeriesKind
from fp8core.experiments.delayed_scaling import AmaxChoice
from fp8core.inputs import InputKind
from fp8core.inputs.recorded import has_amax
from fp8core.linear import OPERANDS, LayerTensor
from pages.kit.shared_controls import INPUT_TITLES, SEED, format_options, is_element, is_narrow
from pages.kit.widgets import Choice, ChoiceStyle, Number, NumberStyle, Place, Text, Whole
from pages.scaling.series import LONGEST

PASTED = "pasted"
LOG_UNIFORM = "log_uniform"
WIDEST = 256.0
"""Octaves: bf16 ends near 2**128, and numbers far below 1 are drawn and then multiplied by down to 2**-24."""

SHOW = Choice(
    key="scaling",
    label="Show",
    options={
        "window": "One scale",
        "rules": "The scale's own format",
        "delayed": "Now or delayed",
    },
    default="window",
)

FORMAT = Choice(
    key="scaling_format",
    label="Format",
    options=format_options(is_narrow),
    default="e4m3",
    style=ChoiceStyle.SELECT,
    help="fp8: e4m3, e5m2. fp6: e3m2, e2m3. fp4: e2m1. fp16 for comparison.",
)
KIND = Choice(
    key="scaling_input",
    label="Numbers",
    options=INPUT_TITLES,
    default=InputKind.GRADIENT_LIKE.value,
    style=ChoiceStyle.SELECT,
    help="The distribution of the numbers.",
)
ROLE = Choice(
    key="scaling_tensor",
    label="Which tensor",
    options={tensor.value: tensor.value for tensor in OPERANDS},
    default=LayerTensor.DY.value,
    help="A recorded layer has three: activations x, weights w and gradients dy.",
)
MAGNITUDE = Whole(
    key="scaling_magnitude",
    label="Make the numbers smaller or larger (× 2ⁿ)",
    low=-24,
    high=24,
    default=0,
    style=NumberStyle.SLIDER,
    help="Move the whole distribution; 0 leaves it as drawn.",
)
COUNT = Choice(
    key="scaling_count",
    label="How many numbers",
    options={1024: "1024", 4096: "4096", 16384: "16384"},
    default=4096,
)
LOG2_SCALE = Number(
    key="scaling_log2", label="log2 of the scale", low=-WIDEST, high=WIDEST, default=0.0, step=0.25
)

ELEMENT = Choice(
    key="scaling_element",
    label="Element format",
    options=format_options(is_element),
    default="e4m3",
    style=ChoiceStyle.SELECT,
)
BLOCK_SIZE = Choice(
    key="scaling_block",
    label="Elements that share a scale",
    options={size: str(size) for size in (16, 32, 64, 128)},
    default=32,
)
BLOCK_KIND = Choice(
    key="scaling_blocks",
    label="Numbers",
    options={LOG_UNIFORM: "amax uniform in log2"} | INPUT_TITLES,
    default=InputKind.GAUSSIAN.value,
    style=ChoiceStyle.SELECT,
    help="The distribution of the numbers in the blocks.",
)

BLOCK_AMAX = Number(
    key="scaling_one", label="amax of one block", low=1.0, high=4.0, default=1.9375, step=0.03125
)

SERIES = Choice(
    key="scaling_series",
    label="amax over the steps",
    options={kind.value: SERIES_NOTES[kind].title for kind in OFFERED_SERIES} | {PASTED: "My own numbers"},
    default=(SeriesKind.REAL_DOWN_DY if has_amax() else SeriesKind.WARMUP).value,
    style=ChoiceStyle.SELECT,
)
STEPS = Whole(key="scaling_steps", label="Steps", low=16, high=400, default=160, step=1)
HISTORY = Whole(
    key="scaling_history",
    label="History (steps)",
    low=1,
    high=400,
    default=16,
    help="How many earlier steps the delayed scale looks back on.",
)
MARGIN = Whole(
    key="scaling_margin",
    label="Margin (bits)",
    low=0,
    high=8,
    default=0,
    help=(
        "The delayed scale is multiplied by 2 to this power. That leaves room for larger numbers, and small "
        "numbers lose bits."
    ),
)
AMAX_CHOICE = Choice(
    key="scaling_amax",
    label="Delayed scale from",
    options={choice.name.lower(): text for choice, text in (
        (AmaxChoice.MAX, "Largest of the history"),
        (AmaxChoice.MOST_RECENT, "Most recent amax"),
    )},
    default=AmaxChoice.MAX.name.lower(),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class TextArea(Text):
    """Several lines of text."""

    def widget(self, place: Place, on_change: Callable[[], None] | None) -> str | None:
        return place.text_area(
            self.label,
            max_chars=self.longest,
            height=90,
            key=self.key,
            help=self.help,
            on_change=on_change,
            persist_state="session",
        )


OWN = TextArea(
    key="scaling_own",
    label="amax of each step",
    default="1 1.1 0.9 1 1 24 1.1 1 0.9 1 1.2 1 0.5 0.25 0.12 0.1 0.1 0.9 1 1.1",
    longest=LONGEST,
    help="Numbers above 0, separated by spaces, commas, semicolons or line ends.",
)

ALL_CONTROLS = (
    SHOW, SEED, FORMAT, KIND, ROLE, MAGNITUDE, COUNT, LOG2_SCALE, ELEMENT, BLOCK_SIZE, BLOCK_KIND, BLOCK_AMAX,
    SERIES, OWN, STEPS, HISTORY, MARGIN, AMAX_CHOICE,
)  # fmt: skip
