"""What the roles of a traced kernel did: operations on barriers, and uses of shared memory."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.kernels.gemm.hopper.ring_values import Memory

Barrier = tuple[str, int]
"""(name of the barriers, number of one)."""


@dataclass(slots=True)
class Op:
    """One operation of a role. kind: "wait", "arrive", "expect", "load", or "touch" for all that no barrier
    sees. amount: the parity waited for, the arrivals, or the bytes.
    """

    kind: str
    barrier: Barrier | None = None
    amount: int = 0


@dataclass(slots=True)
class Access:
    """Use of bytes start to stop of shared memory, from a role's operation `begin` to its operation `end`; of
    a load, to its landing. `end` is None while a wgmma or a store by TMA is under way.
    """

    memory: str
    start: int
    stop: int
    writes: bool
    begin: int
    end: int | None


@dataclass
class Role:
    """One warpgroup or warp, and what it did."""

    name: str
    run: int = 0
    ops: list[Op] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    loads: list[tuple[int, Access]] = field(default_factory=list)
    products: list[list[Access]] = field(default_factory=list)
    stores: list[list[Access]] = field(default_factory=list)

    def add(self, kind: str, barrier: "Memory | None" = None, amount: int = 0) -> int:
        self.ops.append(Op(kind, barrier.barrier if barrier else None, amount))
        return len(self.ops) - 1

    def touch(self, memory: "Memory", *, writes: bool) -> None:
        at = self.add("touch")
        self.accesses.append(memory.access(writes, at, at))

    def begin(self, pending: list[list[Access]], *memories: "Memory") -> None:
        at = self.add("touch")
        begun = [each.access(False, at, None) for each in memories]
        self.accesses += begun
        pending.append(begun)

    def wait(self, pending: list[list[Access]], left: int) -> None:
        at = self.add("touch")
        while len(pending) > left:
            for access in pending.pop(0):
                access.end = at


@dataclass
class Trace:
    """What all roles of one program did. counts: arrivals that end a phase of each barrier."""

    program: int
    programs: int
    last: int | None
    asserts: bool
    roles: list[Role] = field(default_factory=list)
    counts: dict[Barrier, int] = field(default_factory=dict)
    initialized: "list[tuple[Memory, int]]" = field(default_factory=list)
    memories: int = 0

    @property
    def role(self) -> Role:
        return self.roles[-1]


RUNNING: list[Trace] = []
"""The trace under way, if one is, comes last."""
