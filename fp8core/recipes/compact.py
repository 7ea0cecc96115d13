"""A recipe as a short line for an address: only letters, digits and - . _ ~, which no address escapes.

    e4m3.1.128.fp32.nearest~e4m3.128.128.fp32.nearest~ab.hopper_promoted.bf16~ab.…~aa.hopper_promoted.fp32

Parts are joined by ~: the different operands, called a, b, c … (format, mn, k, the scale's format and fit,
then options such as round-stochastic); Fprop, Dgrad and Wgrad (letters of A and B, - for bf16, the
accumulator, D's format); words in base64url.

A line does not name the published recipe that it came from: it means the same for ever.
"""

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any

from fp8core.linear import MATMULS
from fp8core.recipes.plain import ALL, OWN_NAME, OWN_TITLE, Plain, at
from fp8core.recipes.reading import described
from fp8core.recipes.recipe import Family

LONGEST = 4096
"""Characters of a line."""

_LETTERS = "abcdefghijkl"
_BF16 = "-"
_MATMUL = re.compile(rf"[{_LETTERS}{_BF16}]{{2}}\..*")
_NUMBER = re.compile(r"-?[0-9]{1,20}(p[0-9]{1,20})?(e-?[0-9]{1,3})?", re.ASCII)
_WORDS = {"name": OWN_NAME, "title": OWN_TITLE, "family": Family.OWN.value, "source": "", "remark": ""}
"""Words that a line leaves out."""
_USUAL: Plain = {
    "rounding": "nearest_even",
    "rotation": None,
    "saved_as": None,
    "scale": {"amax_floor": 0.0, "outer": None, "history": 0, "search": [1.0], "target": None},
}
"""Fields that an operand leaves out."""


def to_line(data: Plain) -> str:
    """Line of a recipe that is plain data with every field."""
    operands: list[str] = []
    matmuls = []
    for name in MATMULS:
        matmul = data[name]
        letters = "".join(_letter(matmul[side], operands) for side in ("a", "b"))
        matmuls.append(".".join((letters, matmul["accumulator"], matmul["out"])))
    words = [f"{key}-{_encoded(data[key])}" for key, usual in _WORDS.items() if data[key] != usual]
    return "~".join((*operands, *matmuls, *words))


def from_line(line: str) -> Plain:
    """Plain data of a line, with every field; names and ranges are unchecked.

    Raises ValueError for a line of another form.
    """
    if len(line) > LONGEST:
        raise ValueError(f"a recipe's line has at most {LONGEST} characters, got {len(line)}")
    parts = line.split("~")
    first = next((place for place, part in enumerate(parts) if _MATMUL.fullmatch(part)), len(parts))
    names, words = list(MATMULS), parts[first + len(MATMULS) :]
    matmuls = parts[first : first + len(names)]
    if len(matmuls) != len(names) or first > len(_LETTERS) or len(words) > len(_WORDS):
        raise ValueError(
            f"a recipe's line has up to {len(_LETTERS)} operands, then {len(names)} matmuls, "
            f"got {described(line)}"
        )
    operands: dict[str, Plain] = {}
    for letter, part in zip(_LETTERS, parts[:first], strict=False):
        operands[letter] = _operand(part, operands)
    data: Plain = {**_WORDS, **dict(map(_word, words))}
    for name, part in zip(names, matmuls, strict=True):
        letters, *rest = part.split(".")
        if len(rest) != 2:
            raise ValueError(f"a matmul is written letters.accumulator.format, got {described(part)}")
        a, b = (None if letter == _BF16 else _operand_named(letter, operands) for letter in letters)
        data[name] = {"a": a, "b": b, "accumulator": rest[0], "out": rest[1]}
    return data


def _letter(operand: Plain | None, operands: list[str]) -> str:
    """Letter of an operand, which is appended if new."""
    if operand is None:
        return _BF16
    saved = operand["saved_as"] and _letter(operand["saved_as"], operands)
    data = operand | {"saved_as": saved}
    scale, tile = operand["scale"], operand["tile"]
    parts = [operand["format"], str(tile["mn"]), str(tile["k"]), scale["format"], scale["fit"]]
    for key, (path, write, _) in _OPTIONS.items():
        value = at(data, path)
        if value and value != at(_USUAL, path):
            parts.append(f"{key}-{write(value)}")
    text = ".".join(parts)
    if text not in operands:
        operands.append(text)
    return _LETTERS[operands.index(text)]


def _operand(part: str, operands: dict[str, Plain]) -> Plain:
    first, options = part.split(".")[:5], part.split(".")[5:]
    if len(first) != 5:
        raise ValueError(f"an operand is written format.mn.k.scale.fit, got {described(part)}")
    tile = {"mn": _extent(first[1]), "k": _extent(first[2])}
    scale = {"format": first[3], "fit": first[4], **_USUAL["scale"]}
    operand: Plain = {"format": first[0], "tile": tile, **_USUAL, "scale": scale}
    keys = set()
    for option in options:
        key, _, text = option.partition("-")
        if key not in _OPTIONS:
            raise ValueError(f"an operand's options are {', '.join(_OPTIONS)}, got {described(option)}")
        if key in keys:
            raise ValueError(f"an option comes once, got {described(option)} after another")
        keys.add(key)
        (*above, name), _, reader = _OPTIONS[key]
        node = operand
        for step in above:
            node[step] = node[step] or {"inner_max": None, "constant": None}
            node = node[step]
        node[name] = reader(text)
    if operand["saved_as"] is not None:
        operand["saved_as"] = _operand_named(operand["saved_as"], operands)
    return operand


def _operand_named(letter: str, operands: dict[str, Plain]) -> Plain:
    if letter not in operands:
        raise ValueError(f"a letter names an operand before it, got {described(letter)}")
    return operands[letter]


def _extent(text: str) -> int | float | str:
    return text if text == ALL else _number(text)


def _number_text(number: float) -> str:
    """Write a number without a point or a plus: 1.5 is 1p5."""
    short = str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)
    return short.replace("+", "").replace(".", "p")


def _number(text: str) -> int | float:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"a number is written 16, 1p5 or 1e-12, got {described(text)}")
    return float(text.replace("p", ".")) if set(text) & {"p", "e"} else int(text)


def _numbers(text: str) -> list[int | float]:
    return [_number(one) for one in text.split("_")]


def _pair(text: str) -> Plain:
    mn, _, k = text.partition("_")
    return {"mn": _extent(mn), "k": _extent(k)}


def _turn(text: str) -> Plain:
    size, _, rest = text.partition("_")
    seed, _, kind = rest.partition("_")
    return {"size": _number(size), "seed": _number(seed), "kind": kind}


_OPTIONS: dict[str, tuple[tuple[str, ...], Callable[[Any], str], Callable[[str], Any]]] = {
    "round": (("rounding",), str, str),
    "floor": (("scale", "amax_floor"), _number_text, _number),
    "outer": (("scale", "outer", "tile"), "{0[mn]}_{0[k]}".format, _pair),
    "top": (("scale", "outer", "inner_max"), _number_text, _number),
    "times": (("scale", "outer", "constant"), _number_text, _number),
    "history": (("scale", "history"), str, _number),
    "search": (("scale", "search"), lambda numbers: "_".join(map(_number_text, numbers)), _numbers),
    "target": (("scale", "target"), _number_text, _number),
    "turn": (("rotation",), "{0[size]}_{0[seed]}_{0[kind]}".format, _turn),
    "saved": (("saved_as",), str, str),
}
"""Options of an operand: the field's path, and how its text is written and read."""


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _word(part: str) -> tuple[str, str]:
    key, _, text = part.partition("-")
    if key not in _WORDS:
        raise ValueError(f"the words of a recipe are {', '.join(_WORDS)}, got {described(part)}")
    try:
        return key, base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError(f"{key} is written in base64url, got {described(text)}") from None
