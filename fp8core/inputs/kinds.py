"""Kinds of input: laws, and tensors of a training run."""

from enum import Enum
from functools import partial

from fp8core.inputs.recorded import RUN, Note, Part, Step, has_tensors, metadata, note

OUTLIER_FACTOR = 50.0
OUTLIER_EVERY = 97
TAIL_FREEDOM = 4
GRADIENT_SCALE = 2.0**-20
GRADIENT_SPREAD = 2.0


class InputKind(Enum):
    """Distribution of a tensor's elements, or its recorded layer."""

    GAUSSIAN = "gaussian"
    OUTLIER_CHANNELS = "outlier_channels"
    OUTLIER_TOKENS = "outlier_tokens"
    HEAVY_TAIL = "heavy_tail"
    GRADIENT_LIKE = "gradient_like"
    REAL_QKV_EARLY = "real_qkv_early"
    REAL_QKV_MIDDLE = "real_qkv_middle"
    REAL_QKV_LATE = "real_qkv_late"
    REAL_PROJ_EARLY = "real_proj_early"
    REAL_PROJ_MIDDLE = "real_proj_middle"
    REAL_PROJ_LATE = "real_proj_late"
    REAL_GATE_UP_EARLY = "real_gate_up_early"
    REAL_GATE_UP_MIDDLE = "real_gate_up_middle"
    REAL_GATE_UP_LATE = "real_gate_up_late"
    REAL_DOWN_EARLY = "real_down_early"
    REAL_DOWN_MIDDLE = "real_down_middle"
    REAL_DOWN_LATE = "real_down_late"


RECORDED: dict[InputKind, tuple[Part, Step]] = {
    InputKind(f"real_{part.key}_{step.key}"): (part, step) for part in Part for step in Step
}
"""Layer and step of each recorded kind."""
LAWS = tuple(kind for kind in InputKind if kind not in RECORDED)
OFFERED = (*LAWS, *(RECORDED if has_tensors() else ()))
"""Kinds whose numbers are at hand."""

INPUT_NOTES: dict[InputKind, Note] = {
    InputKind.GAUSSIAN: Note("Gaussian", "every element from N(0, 1)"),
    InputKind.OUTLIER_CHANNELS: Note(
        "Outlier channels",
        f"N(0, 1), with every {OUTLIER_EVERY}th column (feature) times {OUTLIER_FACTOR:g}, as activations "
        "of large language models have it",
    ),
    InputKind.OUTLIER_TOKENS: Note(
        "Outlier tokens",
        f"N(0, 1), with the first row (token) and every {OUTLIER_EVERY}th after it times {OUTLIER_FACTOR:g}, "
        "as massive activations have it (arXiv 2402.17762)",
    ),
    InputKind.HEAVY_TAIL: Note("Heavy tail", f"Student's t with {TAIL_FREEDOM} degrees of freedom"),
    InputKind.GRADIENT_LIKE: Note(
        "Gradient-like",
        f"N(0, 1) · {GRADIENT_SCALE:.3g}, each row (token) times its own exp({GRADIENT_SPREAD:g} · N(0, 1)): "
        "tiny values whose size differs from token to token",
    ),
} | {
    kind: note(
        f"Real: {part.value}, {step.key}",
        f"as the layer {part.value} of a small language model had them after step {{after_step}} of its "
        f"training {RUN}; rows begin at one that the seed chooses; where the crop ends, it repeats from "
        "another row",
        partial(metadata, part, step),
    )
    for kind, (part, step) in RECORDED.items()
}
