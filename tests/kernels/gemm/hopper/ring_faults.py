"""Says whether a traced program is sound: no wait ends too early, no memory is overwritten too soon, nobody
waits for ever, whatever takes how long.

A barrier tells its phases apart modulo 2 only. So a wait for phase n is right if phase n - 1 is over when it
begins, and phase n + 1 cannot end before it returns. Operations are nodes of a graph: those of a role follow
each other, arrivals and landed loads of a phase come before its end, and its end before the waits for it.
What has a path to an operation happens before it, in every run.
"""

from collections import defaultdict
from itertools import combinations, product

from tests.kernels.gemm.hopper.ring_gluon import Access, Barrier, Op, Role, Trace

STAGED = ("full", "ready", "empty")
"""Barriers of which each stage has one."""


def faults(trace: Trace) -> list[str]:
    """The faults of a program, each in a sentence; none where it is sound."""
    graph = _Graph(trace)
    return graph.faults or graph.check()


class _Graph:
    """Operations of a program, and what happens before what.

    before: predecessors of each node. over: the node at which a phase of a barrier ends.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace, self.faults = trace, list[str]()
        self.before: list[list[int]] = []
        self.first: dict[str, int] = {}
        self.landed: dict[tuple[str, int], int] = {}
        self.over: dict[tuple[Barrier, int], int] = {}
        self.phase: dict[tuple[str, int], int] = {}
        self.arrivals: dict[tuple[Barrier, int], list[tuple[Role, int]]] = defaultdict(list)
        self.loads: dict[tuple[Barrier, int], list[tuple[Role, int]]] = defaultdict(list)
        self.filled = [op.barrier[1] for role in trace.roles for op in role.ops if self._fills(op)]
        for role in trace.roles:
            self._number(role)
        for role in trace.roles:
            self._add(role)
        for key, arrived in self.arrivals.items():
            self._end(key, arrived)
        for role in trace.roles:
            for place, op in enumerate(role.ops):
                if op.kind == "wait":
                    self._await(role, place, op.barrier)
        self.past = [] if self.faults else self._ordered()

    @staticmethod
    def _fills(op: Op) -> bool:
        return op.kind == "expect" and op.barrier[0] == "full"

    def _node(self, *before: int) -> int:
        self.before.append([*before])
        return len(self.before) - 1

    def _number(self, role: Role) -> None:
        """Give every operation of a role the phase of its barrier that it means.

        The n-th fill of a stage is phase n of `full`, `ready` and `empty`. A role goes through the fills in
        their order: it means the next one of that stage. `empty` is waited for by whoever fills the stage
        anew: it means the phase before. Of other barriers a role means one phase after the other, of which
        the first has the parity that it asks for first.
        """
        uses: dict[int, int] = defaultdict(int)
        number = []
        for stage in self.filled:
            number.append(uses[stage])
            uses[stage] += 1
        at: dict[tuple[str, str], int] = {}
        count: dict[tuple[Barrier, str], int] = {}
        for place, op in enumerate(role.ops):
            if op.kind in ("touch", "load"):
                continue
            name, stage = op.barrier
            waits = op.kind == "wait"
            kind = "wait" if waits else "arrive"
            if name in STAGED:
                fill = at.get((name, kind), -1) + 1
                while fill < len(self.filled) and self.filled[fill] != stage:
                    fill += 1
                if fill == len(self.filled):
                    self._tell(role, f"uses {name} of stage {stage} once more than it is filled")
                    return
                at[name, kind] = fill
                phase = number[fill] - (waits and name == "empty")
            else:
                phase = count.get((op.barrier, kind), -(op.amount & 1) if waits else 0)
                count[op.barrier, kind] = phase + 1
            self.phase[role.name, place] = phase
            if waits and op.amount != phase & 1:
                self._tell(role, f"waits for phase {phase} of {name} {stage} by the parity {op.amount}")

    def _add(self, role: Role) -> None:
        """Add a role's operations, one after the other."""
        self.first[role.name] = len(self.before)
        expected: dict[Barrier, int] = {}
        for place, op in enumerate(role.ops):
            self._node(*([self._at(role, place - 1)] if place else []))
            if op.kind in ("arrive", "expect"):
                self.arrivals[op.barrier, self.phase.get((role.name, place), 0)].append((role, place))
            if op.kind == "expect":
                expected[op.barrier] = self.phase.get((role.name, place), 0)
            if op.kind == "load":
                if op.barrier not in expected:
                    self._tell(role, f"loads for {op.barrier[0]} {op.barrier[1]} unannounced")
                self.loads[op.barrier, expected.get(op.barrier, 0)].append((role, place))
        for place, _ in role.loads:
            self.landed[role.name, place] = self._node(self._at(role, place))

    def _end(self, key: tuple[Barrier, int], arrived: list[tuple[Role, int]]) -> None:
        """Add the end of a phase, where enough arrive for it."""
        (name, number), phase = key
        which = f"phase {phase} of {name} {number}"
        kinds = [(role, place, role.ops[place]) for role, place in arrived]
        come = sum(op.amount if op.kind == "arrive" else 1 for _, _, op in kinds)
        if come > self.trace.counts.get(key[0], 0):
            self.faults.append(f"{which} gets {come} arrivals")
        if come != self.trace.counts.get(key[0], 0):
            return
        loads = self.loads[key]
        expected = sum(op.amount for _, _, op in kinds if op.kind == "expect")
        come = sum(role.ops[place].amount for role, place in loads)
        if expected != come:
            self.faults.append(f"{which} expects {expected} bytes and gets {come}")
        nodes = [self._at(role, place) for role, place in arrived]
        self.over[key] = self._node(*nodes, *(self.landed[role.name, place] for role, place in loads))

    def _await(self, role: Role, place: int, barrier: Barrier) -> None:
        phase = self.phase.get((role.name, place), -1)
        if phase < 0:
            return
        if (barrier, phase) in self.over:
            self.before[self._at(role, place)].append(self.over[barrier, phase])
        else:
            self._tell(role, f"waits for ever for phase {phase} of {barrier[0]} {barrier[1]}")

    def _ordered(self) -> list[int]:
        """For each node, the set of those that happen before it, and itself, as bits of a number."""
        after: list[list[int]] = [[] for _ in self.before]
        for node, before in enumerate(self.before):
            for each in before:
                after[each].append(node)
        left = [len(before) for before in self.before]
        ready = [node for node, count in enumerate(left) if not count]
        past = [0] * len(self.before)
        count = 0
        while ready:
            node = ready.pop()
            count += 1
            reach = 1 << node
            for each in self.before[node]:
                reach |= past[each]
            past[node] = reach
            for each in after[node]:
                left[each] -= 1
                if not left[each]:
                    ready.append(each)
        if count < len(past):
            self.faults.append("roles wait for each other for ever")
        return past

    def check(self) -> list[str]:
        """The faults of a program whose phases are numbered and end."""
        if self.faults:
            return self.faults
        ends = 0
        for role in self.trace.roles:
            for place, op in enumerate(role.ops):
                if op.kind == "wait":
                    self._check_wait(role, place, op.barrier)
                elif op.kind in ("arrive", "expect"):
                    self._check_begun(role, self._at(role, place), op.barrier, self._phase(role, place))
            if role.ops:
                ends |= self.past[self._at(role, len(role.ops) - 1)]
            if role.products or role.stores:
                self._tell(role, "ends while the tensor core or TMA reads what it has handed on")
        if any(not ends >> landed & 1 for landed in self.landed.values()):
            self.faults.append("the program ends while a load is under way")
        if not any(role.products or role.stores for role in self.trace.roles):
            self._check_memory()
        return self.faults

    def _check_wait(self, role: Role, place: int, barrier: Barrier) -> None:
        phase, node = self._phase(role, place), self._at(role, place)
        self._check_begun(role, node - 1 if place else None, barrier, phase)
        later = self.over.get((barrier, phase + 1))
        if later is not None and not self.past[later] >> node & 1:
            self._tell(
                role, f"may miss phase {phase} of {barrier[0]} {barrier[1]}: the next one may end, too"
            )

    def _check_begun(self, role: Role, node: int | None, barrier: Barrier, phase: int) -> None:
        """Phase - 1 is over before an operation that means a phase."""
        if phase < 1:
            return
        earlier = self.over.get((barrier, phase - 1))
        if earlier is None or node is None or not self.past[node] >> earlier & 1:
            self._tell(role, f"may take phase {phase - 2} of {barrier[0]} {barrier[1]} for phase {phase}")

    def _check_memory(self) -> None:
        """Who writes memory and who else uses it do so one after the other."""
        used: dict[str, dict[tuple[int, int], list[tuple[Role, Access, int, int]]]] = {}
        for role in self.trace.roles:
            for access in role.accesses:
                nodes = self._at(role, access.begin), self._at(role, access.end)
                ranges = used.setdefault(access.memory, defaultdict(list))
                ranges[access.start, access.stop].append((role, access, *nodes))
            for place, access in role.loads:
                nodes = self._at(role, place), self.landed[role.name, place]
                ranges = used.setdefault(access.memory, defaultdict(list))
                ranges[access.start, access.stop].append((role, access, *nodes))
        for memory, ranges in used.items():
            pairs = [(each, each) for each in ranges]
            places = sorted(ranges)
            pairs += [(a, b) for a, b in combinations(places, 2) if b[0] < a[1] and a[0] < b[1]]
            for one, other in pairs:
                both = combinations(ranges[one], 2) if one == other else product(ranges[one], ranges[other])
                for (role, a, begins, ends), (its, b, starts, stops) in both:
                    if not (a.writes or b.writes):
                        continue
                    if not (self.past[starts] >> ends & 1 or self.past[begins] >> stops & 1):
                        self._tell(role, f"and {its.name} may use {memory} at once, bytes from {a.start}")
                        return

    def _phase(self, role: Role, place: int) -> int:
        return self.phase[role.name, place]

    def _at(self, role: Role, place: int) -> int:
        return self.first[role.name] + place

    def _tell(self, role: Role, fault: str) -> None:
        self.faults.append(f"{role.name} {fault}")
