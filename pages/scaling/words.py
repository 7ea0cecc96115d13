"""The sentences of the sections "One scale" and "The scale's own format"; their figures are computed."""

import math
from collections.abc import Mapping
from typing import Protocol

from fp8core.experiments.scale_sweep import ScaleSweep
from fp8core.formats import FORMATS, FloatFormat
from fp8core.inputs import INPUT_NOTES, InputKind
from fp8core.scales import E8M0_FLOOR, saturated_share
from pages.kit.charts.words import percent_text, short

NEAR_DB = 3.0
MANY = 0.1
FLOOR, EVEN, UP, EXACT = "e8m0, floor", "e8m0, even", "e8m0, round up", "fp32"


class Landing(Protocol):
    """The effect of one scale rule on a set of blocks."""

    saturated: float
    closed_form: float
    sqnr_db: float


def percent(share: float) -> str:
    """A percentage, such as ``12.3%``. A share above 0 never reads as 0, nor one below 1 as all."""
    if 0 < share < 5e-5:
        return "under 0.01%"
    if 1 - 5e-4 < share < 1:
        return "over 99.9%"
    return percent_text(share)


def largest(name: str) -> str:
    """The largest value of a format, in full."""
    return f"{FORMATS[name].max:,.6g}"


def window_of(name: str) -> str:
    """The range of a format, for a reader who has never met it."""
    format_ = FORMATS[name]
    return (
        f"A number in {name} has {format_.bits} bits. Its largest value is {largest(name)}, its smallest "
        f"above zero {short(format_.min_subnormal)}. A larger number **saturates** (is clipped to the "
        "largest value); a number of at most half the smallest **becomes 0**. So a tensor x is stored as x "
        "/ scale, rounded. Its scale is stored too, to multiply it back."
    )


def window_notice(name: str, sweep: ScaleSweep, at: int, amax_db: float) -> str:
    """The main fact of the picture at index `at`; `amax_db` is the SQNR under the amax scale."""
    lost, clipped = sweep.dead_share[at], sweep.saturated_share[at]
    if lost > MANY:
        below = sweep.sqnr_db[sweep.best] - sweep.sqnr_db[at]
        hidden = "SQNR hardly shows it." if below < NEAR_DB else f"Press *amax scale*: {amax_db:.0f} dB."
        return f"Under this scale **{percent(lost)} of the numbers become 0.** {hidden}"
    if clipped > 0:
        return f"**{percent(clipped)} of the numbers saturate**: they are larger than {largest(name)} scales."
    first, last = sweep.near_best(NEAR_DB)
    octaves = math.log2(sweep.scale[last] / sweep.scale[first])
    least = "at least " if first == 0 or last == sweep.scale.size - 1 else ""
    return (
        f"SQNR stays within {NEAR_DB:g} dB of its best while the scale changes "
        f"**by a factor of {least}{factor(octaves)}.**"
    )


def factor(octaves: float) -> str:
    """2**octaves, to two digits while that is short, else rounded down to a power of two."""
    return short(2.0**octaves, 2) if octaves < 4 else f"{2 ** math.floor(octaves):,}"


def window_alt(name: str, sweep: ScaleSweep, at: int) -> str:
    """The picture in words, its cursor at index `at`."""
    return (
        f"Histogram of the size of numbers divided by the scale, over the range of {name}: "
        f"{percent(sweep.dead_share[at])} lie where they become 0, {percent(sweep.saturated_share[at])} "
        f"where they saturate. Below, SQNR over the scale: {sweep.sqnr_db[at]:.1f} dB here, "
        f"{sweep.sqnr_db[sweep.best]:.1f} dB at best. Below that, the shares of the error from becoming 0, "
        "rounding and saturating."
    )


def window_rules(name: str, kind: str) -> str:
    """Edges, ties and definitions of the section "One scale"."""
    format_ = FORMATS[name]
    first_beyond = float(format_.max + format_.ulp(format_.max) / 2)
    return (
        f"- **Numbers**: {INPUT_NOTES[InputKind(kind)].rule}; every one times 2 to the chosen power.\n"
        "- **Stored**: code = round(x / scale) to nearest, a tie to the even last bit; it stands for code · "
        "scale. All of these numbers share one scale, and scales are exact here, not rounded to a format.\n"
        f"- **amax scale**: max |x| / {largest(name)}. Its button takes the next position of the slider "
        "that still holds amax; the diamond is exact.\n"
        f"- **Saturates**: |x| / scale above {short(first_beyond, 6)}, half a step beyond the largest value; "
        "up to there a number rounds to that value as to any other.\n"
        f"- **Becomes 0**: |x| / scale at most {short(format_.min_subnormal / 2)}, a tie, which goes to the "
        "even code, 0.\n"
        f"- **Subnormal**: below {short(format_.min_normal)}, where the step between values no longer "
        "shrinks with the number.\n"
        "- **SQNR** = −10 log10(‖error‖² / ‖x‖²). Each element's error belongs to one of three parts: "
        "*saturating* (x / scale rounds beyond the largest value), *becoming 0* (x is not 0, its code is), "
        "*rounding* (all others). A part is the sum of its squared errors over ‖x‖²."
    )


def rules_intro(name: str) -> str:
    """A paragraph on why the scale's own format matters."""
    most = largest(name)
    return (
        "A block of numbers shares one scale, and the scale is stored too. In fp32 it can be "
        f"amax / {most}. **e8m0** has 8 bits and holds powers of two only, so amax / scale misses "
        f"{most}: it lands below (part of the range stays unused) or above (the block's largest number is "
        "clipped)."
    )


def rules_notice(found: Mapping[str, Landing]) -> str:
    """The difference between floor and round-up on these blocks."""
    share = percent(found[FLOOR].saturated)
    return f"Floor clips the largest number of **{share} of these blocks.** Rounding up clips none."


def rules_table(found: Mapping[str, Landing]) -> str:
    """A line for each rule."""
    lines = [
        "| Scale | amax beyond the largest value | if log2 amax were uniform | SQNR (dB) |",
        "|:--|--:|--:|--:|",
    ]
    lines += [
        f"| {title} | {percent(one.saturated)} | {percent(one.closed_form)} | {one.sqnr_db:.2f} |"
        for title, one in found.items()
    ]
    return "\n".join(lines)


def rules_alt(name: str, found: Mapping[str, Landing]) -> str:
    """The picture in words."""
    shares = ", ".join(f"{title} {percent(one.saturated)}" for title, one in found.items())
    return (
        f"A histogram of amax / scale for each of {len(found)} scale rules, beside the largest value of "
        f"{name}. Share of blocks beyond it: {shares}."
    )


def closed_form(format_: FloatFormat) -> str:
    """The derivation of the share that floor saturates."""
    share, log2_max = saturated_share(E8M0_FLOOR, format_), math.log2(format_.max)
    return (
        "**The closed form for floor.** Floor keeps amax / scale from $2^{e_{max}}$ up to, not including, "
        r"$2^{e_{max} + 1}$: one octave. Where $\log_2 amax$ is uniform, so is its place in that octave, and "
        r"the part above $Q_{max}$, the largest value, is $1 + e_{max} - \log_2 Q_{max}$ "
        f"= 1 + {format_.e_max} − {log2_max:.4f} = {share:.4f} for {format_.name}. Even rounds "
        "amax to the element's mantissa first, so the topmost part of the octave goes to the next "
        "exponent. The amax of real blocks has a distribution of its own, hence the other column.\n\n"
        "That column counts blocks with amax / scale above $Q_{max}$. An amax within half a step of it is "
        "counted though it rounds to $Q_{max}$ like any number there; SQNR has the true cost.\n"
    )
