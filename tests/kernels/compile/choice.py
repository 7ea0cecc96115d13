"""Which cases stand for the others: one of each kernel, and one of each path through its code."""

from collections.abc import Iterable

from tests.kernels.compile.cases import Case

_CODED = ("DECODE", "SCALE")


def one_of_each_kernel(cases: Iterable[Case]) -> list[Case]:
    """Of the cases of a kernel and a kind, the one with the largest block."""
    largest: dict[tuple[object, ...], Case] = {}
    for case in cases:
        key = (case.device.name, case.kernel, case.kind, case.path)
        if key not in largest or block_size(case) > block_size(largest[key]):
            largest[key] = case
    return list(largest.values())


def one_of_each(cases: Iterable[Case]) -> list[Case]:
    """Of the cases that take one path through a kernel's code, the one with the largest block.

    A flag or a word among the constants is another path, and so is a split K. A number is a size. The codes
    that are decoded and the format of their scales change a few instructions: each pair is compiled once.
    """
    largest: dict[tuple[object, ...], Case] = {}
    for case in cases:
        facts = dict(case.constants)
        own = (case.device.name, case.kernel, case.kind, case.path)
        flags = tuple(
            (name, fact)
            for name, fact in case.constants
            if isinstance(fact, bool | str) and (name not in _CODED or "DECODE" not in facts)
        )
        paths = [(*own, facts.get("RUNS", 1) > 1, flags)]
        paths += [(*own, *(facts[name] for name in _CODED))] if "DECODE" in facts else []
        for path in paths:
            if path not in largest or block_size(case) > block_size(largest[path]):
                largest[path] = case
    return list(dict.fromkeys(largest.values()))


def block_size(case: Case) -> tuple[int, int]:
    """The elements of a block of D, and the stages."""
    sizes = dict(case.constants)
    return sizes.get("BLOCK_M", 1) * sizes.get("BLOCK_N", 1), sizes.get("STAGES", case.stages)
