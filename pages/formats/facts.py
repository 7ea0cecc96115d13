"""The exact rules, the controls and the facts of the page "Formats"."""

from collections.abc import Iterable

from fp8core.formats.float_format import Specials
from fp8core.rounding import Overflow, Rounding
from pages.formats import code, compare, gradients, overflow
from pages.formats.controls import OWN_CONTROLS, SHOW

_CODES = r"""
**Codes.** A format of $m$ mantissa bits reads a code as a sign, an exponent field $e$ and a mantissa field
$f$, and has a bias $b$:

- where $e > 0$ the value is $\pm 2^{e-b} \cdot (1 + f / 2^m)$, a **normal** number;
- where $e = 0$ it is $\pm 2^{1-b} \cdot f / 2^m$, a **subnormal** number or zero.

So a larger value of one sign has a larger code, and the next code is the next value. E8M0 has no
sign and no subnormal numbers: its value is $2^{e-b}$ for every $e$. HiF8 and MXINT8 read their bits in ways
of their own; choose one above to see how.
"""
_ROUNDING = {
    Rounding.NEAREST_EVEN: "the nearer neighbor. Exactly half way, the neighbor whose last mantissa bit is 0 "
    "(its code is even). Without mantissa bits (E8M0, or a format of your own), half way between two powers "
    "of two goes to the larger one, as IEEE 754 and ml_dtypes have it; P3109 takes the even code instead.",
    Rounding.NEAREST_AWAY: "the nearer neighbor. Exactly half way, the one larger in size.",
    Rounding.TOWARD_ZERO: "the neighbor smaller in size.",
    Rounding.STOCHASTIC: "one of both at random: a number a third of the way up goes up in a third of the "
    "cases.",
}
_OVERFLOW = {
    Overflow.SATURATE: "the largest value of its sign",
    Overflow.INF: "infinity of its sign",
    Overflow.NAN: "NaN",
}
_LIMITS = """
- Numbers are rounded once, from float64. Overflow is decided after rounding, as though the format went on
  beyond its largest value: a number less than half a step beyond it still rounds back to it by nearest.
- NaN stays NaN. In a format that has no NaN it is refused. Minus zero becomes 0 where there is no minus zero.
- A format without a sign makes negative numbers NaN, and numbers below its smallest value that value.
"""
_SOURCES = """
**Sources.** E4M3, E5M2: OCP 8-bit Floating Point Specification 1.0. E3M2, E2M3, E2M1, E8M0, MXINT8: OCP
Microscaling Formats 1.0. fp16, fp32: IEEE 754-2019. bf16 and the 8-bit IEEE-style formats: as ml_dtypes has
them. FNUZ: Noune et al., arXiv 2206.02915, as AMD's CDNA3 has them. tf32: NVIDIA's A100 white paper. E8M13:
what Hopper's FP8 tensor core keeps of a sum (MMA-Sim, arXiv 2511.10909). HiF8: Luo et al., arXiv 2409.16626.
binary8: IEEE P3109, interim report.
"""


def exact_rules() -> str:
    parts = (
        _CODES,
        "**Special codes** are those that are no finite number:",
        _bullets(f"{s.value[0].upper()}{s.value[1:]}." for s in Specials),
        "**Rounding** takes one of the two values around a number:",
        _bullets(f"**{mode.name.capitalize().replace('_', ' ')}**: {_ROUNDING[mode]}" for mode in Rounding),
        f"**Too large** becomes {', '.join(_OVERFLOW[policy] for policy in Overflow)}, as chosen:",
        _LIMITS,
        _SOURCES,
    )
    return "\n\n".join(part.strip() for part in parts)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


CONTROLS = (SHOW, *OWN_CONTROLS, *code.CONTROLS, *compare.CONTROLS, *gradients.CONTROLS, *overflow.CONTROLS)
FACTS = {**code.FACTS, **compare.FACTS, **gradients.FACTS, **overflow.FACTS}
