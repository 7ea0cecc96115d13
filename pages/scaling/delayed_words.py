"""The sentences of the section "Now or delayed"; their figures are computed."""

from collections.abc import Sequence
from typing import Protocol

from fp8core.experiments.delayed_scaling import AmaxChoice
from pages.kit.charts.words import count, short

INTRO = (
    "To scale by amax, one must know it first. That takes a pass over the whole tensor, before the pass that "
    "casts it. **Delayed scaling** saves the first pass: it takes the amax of earlier steps and hopes that "
    "this step has no larger one. **Current scaling** (also called dynamic or online) makes the pass."
)
WHY_THEY_STOPPED = (
    "A scale from the past clips new, larger numbers without a warning. A longer history or a margin "
    "prevents that, but takes bits from every other step. The history is also state: for every tensor it "
    "must be kept, reduced over GPUs and saved in checkpoints. Current scaling has none of these problems. "
    "And where one scale serves a small block only, the casting kernel already holds the numbers of the "
    "block. It finds amax among them: there is no extra pass left to save."
)
SOURCES = (
    "Sources: Transformer Engine, common/recipe/delayed_scaling.cu, and its guide to low-precision training, "
    "FP8 delayed scaling (one read of the tensor instead of two); DeepSeek-V3, arXiv 2412.19437, section "
    "3.3.2, online quantization (accurate scales, a simpler framework)."
)
RULES = (
    r"- **Delayed**: $scale = amax^* \cdot 2^{margin} / Q_{max}$, where $amax^*$ is the largest of the "
    "window of earlier steps, or the most recent. A step is cast with the scale it finds; its own amax "
    "counts from the next step on.\n"
    "- **Current**: $scale = amax / Q_{max}$ of the step itself, read before it is cast. So a finite amax "
    "never overflows.\n"
    "- An amax of 0, infinity or NaN leaves the scale as it was.\n"
    "- The format plays no part in the picture: the scale above holds $amax^* \\cdot 2^{margin}$ in any "
    "format. What unused bits cost does depend on it: each doubles the number below which all becomes 0.\n"
    "- The first step has no history and its scale is 1; it is neither counted nor judged here.\n"
    "- *Unused* is log2 of what the scale holds over amax, at steps that do not overflow."
)


class Strategy(Protocol):
    """The effect of one way to choose scales on a series."""

    title: str
    steps: int
    overflows: int
    worst: float
    unused_bits: float
    most_unused_bits: float


def chosen_of(found: Sequence[Strategy], choice: AmaxChoice) -> Strategy:
    """The delayed strategy among current scaling and every delayed one."""
    return found[1 + list(AmaxChoice).index(choice)]


def notice(found: Sequence[Strategy], choice: AmaxChoice) -> str:
    """The effect of the chosen delayed scale on the series."""
    one = chosen_of(found, choice)
    if not one.overflows:
        return (
            f"With a scale from the past, **none of {count(one.steps, 'step')} overflows.** But part of the "
            "range stays unused. The step's own amax uses all of it."
        )
    verb = "overflows" if one.overflows == 1 else "overflow"
    return (
        f"With a scale from the past, **{one.overflows} of {count(one.steps, 'step')} {verb}.** "
        "With the step's own amax none does."
    )


def table(found: Sequence[Strategy], choice: AmaxChoice) -> str:
    """Every strategy; the one in the picture stands out."""
    shown = chosen_of(found, choice)
    lines = [
        "| Scale from | overflows | worst | bits unused | at most |",
        "|:--|--:|--:|--:|--:|",
    ]
    for one in found:
        mark = "**" if one is shown else ""
        worst = f"{short(one.worst, 3)}×" if one.overflows else "–"
        lines.append(
            f"| {mark}{one.title}{mark} | {one.overflows} of {one.steps} | {worst} | "
            f"{one.unused_bits:.2f} | {one.most_unused_bits:.2f} |"
        )
    return "\n".join(lines)


def picture_alt(found: Sequence[Strategy], choice: AmaxChoice) -> str:
    """The picture in words."""
    one = chosen_of(found, choice)
    return (
        f"Timeline of amax over {one.steps} steps and of the largest number that the delayed scale holds; "
        f"{one.overflows} overflows are marked by triangles. Below, the bits of range unused at each step."
    )
