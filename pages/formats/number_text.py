"""The text that a reader may type for a number, or for a code."""

import math
import re
import unicodedata
from dataclasses import dataclass

_ASCII = {**dict.fromkeys(map(ord, "−‐‑–"), "-"), ord("∞"): "inf"}
_CODE = re.compile(r"0x([0-9a-f]{1,8})|0b([01]{1,32})", re.ASCII | re.IGNORECASE)
_POWER = re.compile(r"([+-]?)2\^([+-]?[0-9]{1,4})", re.ASCII)
_FRACTION = re.compile(r"([+-]?[0-9]{1,15})/([0-9]{1,15})", re.ASCII)
_DECIMAL = re.compile(
    r"[+-]?(([0-9]{1,20}\.?[0-9]{0,20}|\.[0-9]{1,20})(e[+-]?[0-9]{1,4})?|inf|infinity|nan)",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True)
class CodeText:
    code: int


def read(text: str) -> float | CodeText:
    """The number, or the code, that a text writes. Raises ValueError with what came and what is needed."""
    plain = without_typesetting(text)
    if match := _CODE.fullmatch(plain):
        return CodeText(int(match[1], 16) if match[1] else int(match[2], 2))
    if match := _POWER.fullmatch(plain):
        exponent = int(match[2])
        size = math.ldexp(1.0, exponent) if exponent < 1024 else math.inf
        return -size if match[1] == "-" else size
    if (match := _FRACTION.fullmatch(plain)) and int(match[2]):
        return int(match[1]) / int(match[2])
    if _DECIMAL.fullmatch(plain):
        return float(plain)
    came = f"“{text.strip()}”" if text.strip() else "nothing"
    raise ValueError(
        f"Got {came}; needed is a number, such as 0.3, -1e-3, 1/3, 2^-9, inf or nan, or a code, such as 0x2a."
    )


def without_typesetting(text: str) -> str:
    """The text without spaces of any width and invisible characters, its minus and infinity in ASCII."""
    visible = "".join(c for c in text if not (c.isspace() or unicodedata.category(c) == "Cf"))
    return visible.translate(_ASCII)
