"""Tables of codes: where a format is encoded by looking a number's top bits up. Pure; no torch, no GPU."""

import numpy as np

from fp8core.formats import FORMATS, Format
from fp8core.formats.binades import mantissa_bits
from fp8core.rounding import Rounding

FP32 = FORMATS["fp32"]


def table_facts(format_: Format, rounding: Rounding) -> dict[str, int | bool]:
    """How a table of codes is read: by the top bits of |x|, which decide between two neighbors.

    One mantissa bit more than the format's finest shows on which side of a tie a number lies. Nearest even
    and toward zero need to know of the bits below, too: whether any of them is set.
    """
    lowest = int(np.frexp(format_.min_subnormal)[1]) - 1
    finest = max(mantissa_bits(format_, e) for e in range(lowest, format_.e_max + 1))
    shift = FP32.mantissa_bits - finest - 1
    first, last = FP32.bias + lowest - 2, FP32.bias + format_.e_max + 1
    return {
        "table_base": first << (finest + 1),
        "table_shift": shift,
        "table_size": (last - first + 1) << (finest + 1),
        "table_sticky": rounding is not Rounding.NEAREST_AWAY,
    }


def code_table(format_: Format, rounding: Rounding) -> np.ndarray:
    """uint8[2, table_size, 1 or 2]: codes by sign, top bits of |x| and, where it counts, whether any bit
    below is set.
    """
    facts = table_facts(format_, rounding)
    top = (np.arange(facts["table_size"], dtype=np.int32) + facts["table_base"]) << facts["table_shift"]
    sizes = np.stack([top, top + 1][: 1 + facts["table_sticky"]], axis=1).view(np.float32)
    return np.stack([format_.encode(sizes, rounding), format_.encode(-sizes, rounding)]).astype(np.uint8)
