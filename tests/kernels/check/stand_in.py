"""Machines and steps that no test has; as a program, `python stand_in.py ARGUMENTS` is the command line on a
stand-in H200 whose steps are slow.
"""

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kernels.check.__main__ import main
from kernels.check.report import Facts, Figure, Group, Line, Verdict
from kernels.check.steps import Step
from tests.kernels.check.reports import H200


@dataclass
class StandIn:
    """A machine with these GPUs, or, with facts that name no GPU, without one."""

    all_facts: tuple[Facts, ...] = (H200,)
    fault_told: str = ""
    selected: list[int] = field(default_factory=list)
    released: int = 0

    def gpus(self) -> int:
        return self.all_facts[0].gpus

    def facts(self, device: int) -> Facts:
        return self.all_facts[min(device, len(self.all_facts) - 1)]

    def uuid(self, device: int) -> str:
        return f"GPU-{device}"

    def select(self, device: int) -> None:
        self.selected.append(device)

    def release(self) -> None:
        self.released += 1

    def fault(self) -> str:
        return self.fault_told


def passed(group: Group, name: str) -> Line:
    figures = (Figure("rate", 2.0, "GB/s"),)
    return Line(name=name, group=group, verdict=Verdict.PASS, detail="As it should be.", figures=figures)


def step(
    name: str, run: Callable[[], Iterable[Line]] | None = None, group: Group = Group.GEMMS, **fields
) -> Step:
    """A step of one line, which passes unless `run` says otherwise."""
    return Step(group=group, names=(name,), run=run or (lambda: [passed(group, name)]), **fields)


def plan_of(*steps: Step):
    return lambda job, facts, uuid: steps


def slow() -> Iterable[Line]:
    sys.stderr.write("slow\n")
    sys.stderr.flush()
    time.sleep(60)
    return []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], machine=StandIn(), plan=plan_of(step("a"), step("b", slow), step("c"))))
