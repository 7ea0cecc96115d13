"""The exact rules of a tile's scale, for readers of two pages."""

import math

from fp8core.scales import E8M0_FLOOR, FP32_SCALE, SCALE_RULES, Fit
from pages.kit.charts.words import power_of_two

_FITS = {
    Fit.NEAREST: "**fp32**: $scale = amax / Q_{max}$, one division, correctly rounded to fp32.",
    Fit.FLOOR: r"**E8M0, floor**: $2^{\lfloor \log_2 amax \rfloor - e_{max}}$, where $2^{e_{max}}$"
    " is the largest power of two in the format (OCP MX 1.0, section 6.3). amax may land above $Q_{max}$ and "
    "saturate.",
    Fit.EVEN: "**E8M0, even**: amax is first rounded to as many mantissa bits as the format has; "
    "then floor (EVEN in torchao).",
    Fit.ROUND_UP: r"**E8M0, round up**: the smallest $2^E$ with $amax \le Q_{max} \cdot 2^E$ "
    "(arXiv 2506.08027, section 3).",
}


def scale_rules() -> str:
    """Markdown on the way from a tile's amax to its scale, in every case."""
    fp32, e8m0 = (power_of_two(math.log2(rule.min_scale)) for rule in (FP32_SCALE, E8M0_FLOOR))
    kinds = "\n".join(f"- {_FITS[rule.fit]}" for rule in SCALE_RULES.values())
    return (
        "A scale follows from **amax**, the largest |x| of its tile, and multiplies the codes back. "
        f"$Q_{{max}}$ is the largest value of the codes' format.\n\n{kinds}\n"
        "- **Powers of two** are read off the exponent and mantissa bits of amax: a logarithm in floating "
        "point is off by one near them.\n"
        "- **A tile of zeros, or an amax too small**: the scale is the smallest one, "
        f"{fp32} in fp32 (its smallest normal number) and {e8m0} in E8M0, so 1 / scale is finite. A tile of "
        "zeros gives codes of zero.\n"
        "- **NaN or infinity in a tile**: the scale is NaN, and so is every code of the tile. A broken value "
        "shows in all that it touches, instead of being clipped to a number.\n"
    )
