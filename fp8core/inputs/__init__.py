"""Inputs of experiments: seeded laws, and tensors of a training run."""

from fp8core.inputs.draws import draw, draw_operand, kind_of, log_uniform_blocks, rules, stretch
from fp8core.inputs.kinds import (
    INPUT_NOTES,
    LAWS,
    OFFERED,
    OUTLIER_EVERY,
    OUTLIER_FACTOR,
    RECORDED,
    InputKind,
)
from fp8core.inputs.recorded import Part, Step

__all__ = [
    "INPUT_NOTES",
    "LAWS",
    "OFFERED",
    "OUTLIER_EVERY",
    "OUTLIER_FACTOR",
    "RECORDED",
    "InputKind",
    "Part",
    "Step",
    "draw",
    "draw_operand",
    "kind_of",
    "log_uniform_blocks",
    "rules",
    "stretch",
]
