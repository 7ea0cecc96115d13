"""Sizes of a compiled kernel's parameters, as its PTX declares them and as a warm launch lays them out."""

import re
from types import SimpleNamespace

from kernels.launching.parameters import Unprepared, parameters

PARAMETER = re.compile(r"\.param (?:\.align \d+ )?\.[a-z](\d+) [^\[\n]*?(?:\[(\d+)\])?,?$", re.MULTILINE)


def declared(ptx: str) -> list[int]:
    """Bytes of each parameter of a kernel."""
    start = ptx.index(".entry")
    head = ptx[start : ptx.index("\n)", start)].replace(" .ptr .global", "").replace(" .align 1 ", " ")
    return [int(bits) // 8 * int(count or 1) for bits, count in PARAMETER.findall(head)]


def laid_out(kernel) -> list[int]:
    """Bytes of each parameter that Triton's launcher would be given, by kernels.launching; empty for what is
    left to Triton."""
    arguments = {name: argument(kind) for name, kind in kernel.src.signature.items()}
    try:
        return [each.bytes for each in parameters(kernel, arguments)]
    except Unprepared:
        return []


def argument(kind):
    """Something that a type stands for."""
    if not kind.startswith("tensordesc"):
        return None if kind.startswith("*") else 3
    rank = re.match(r"tensordesc<[^[>]*\[([^\]]*)\]", kind)[1].count(",") + 1
    return SimpleNamespace(shape=[64] * rank, strides=[64] * (rank - 1) + [1], base=None, padding="zero")
