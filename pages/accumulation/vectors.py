"""The captured vectors against the models: how many outputs come out bit for bit.

The pool's processes import this module: it imports no Streamlit.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path

from kernels.probe.operations import Operation, mismatches, operations, predict
from kernels.probe.vectors import read_machine, read_vectors

_TOLD = ("torch", "triton")


@dataclass(frozen=True, kw_only=True)
class Checked:
    """One operation of one file: outputs captured, and how many the model gives bit for bit."""

    operation: str
    title: str
    outputs: int
    equal: int


@dataclass(frozen=True, kw_only=True)
class Check:
    """One file of vectors against the model, and the machine that captured it."""

    machine: dict[str, str]
    operations: tuple[Checked, ...]
    seconds: float

    @property
    def outputs(self) -> int:
        return sum(one.outputs for one in self.operations)

    @property
    def equal(self) -> int:
        return sum(one.equal for one in self.operations)

    @property
    def where(self) -> str:
        """Machine, date and versions, in words."""
        versions = (f"{name} {self.machine[name]}" for name in _TOLD if name in self.machine)
        return ", ".join([self.machine["gpu"], self.machine["date"], *versions])


def checked(path: str, stamp: int, bits_off: int) -> Check | str:
    """Run the models over a file of vectors, with `bits_off` fraction bits more than the unit has.

    `stamp` changes when the file does. A file that holds no vectors of the units here gives the reason.
    """
    try:
        return _checked(Path(path), bits_off)
    except ValueError as error:
        return str(error)


def _checked(path: Path, bits_off: int) -> Check:
    began = time.perf_counter()
    known = {operation.name: changed(operation, bits_off) for operation in operations()}
    counts = {name: [0, 0] for name in known}
    for one in read_vectors(path):
        if one.operation not in known:
            raise ValueError(f"{path.name} has vectors of {one.operation}, which has no model here")
        bad = mismatches(one.d, predict(known[one.operation], one.case))
        counts[one.operation][0] += bad.size
        counts[one.operation][1] += int(bad.size - bad.sum())
    found = tuple(
        Checked(operation=name, title=known[name].title, outputs=outputs, equal=equal)
        for name, (outputs, equal) in counts.items()
        if outputs
    )
    seconds = time.perf_counter() - began
    return Check(machine=read_machine(path), operations=found, seconds=seconds)


def changed(operation: Operation, bits_off: int) -> Operation:
    """The operation with a model that keeps this many fraction bits more."""
    unit = operation.accumulator
    return replace(operation, accumulator=replace(unit, fraction_bits=unit.fraction_bits + bits_off))
