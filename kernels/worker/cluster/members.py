"""The hosts that lend their GPUs: they may come and go while the app runs.

A host whose versions differ from this one's is refused in a sentence, which names both sides.
"""

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from kernels.worker.cluster.facts import Facts, difference, facts_here, from_labels
from kernels.worker.cluster.link import Node
from kernels.worker.cluster.remote import RemoteWorker
from kernels.worker.cluster.watch import table
from kernels.worker.launch import project_path
from kernels.worker.process import HostGone
from kernels.worker.queue import WorkerQueue
from kernels.worker.supervisor import Supervisor

_log = logging.getLogger(__name__)
CLUSTER_VARIABLE = "FP8_EXPLORER_CLUSTER"
"""The variable with the cluster's address, such as 10.0.0.1:18600; without it there is no cluster."""
_REST_S = 15.0
"""A host that was lost but is still in the table may have hung up once: it is tried again after this time."""
_AGAIN_S = 5.0

Start = Callable[[Node], RemoteWorker]


def refusal(node: Node, here: Facts) -> str:
    """Why a host is not used, as a sentence; "" where it is."""
    theirs = from_labels(node.labels)
    if theirs is None:
        return f"{node.host} is not used: it does not run FP8 Explorer. Start it there with make cluster."
    if told := difference(theirs, here):
        return f"{node.host} is not used, because it differs from this host: {told}. Make both alike."
    if set(theirs.gpu_ids) & set(here.gpu_ids):
        return f"{node.host} is not used: it lends GPUs that serve this host already."
    if not node.gpus:
        return f"{node.host} is not used: it lends no GPU."
    return ""


def _gpus(node: Node) -> str:
    theirs = from_labels(node.labels)
    name = theirs.gpus.replace("_", " ") if theirs is not None and theirs.gpus else "GPU"
    return f"{node.gpus} × {name}"


@dataclass(eq=False)
class _Slot:
    """One GPU of a host, and its worker; `supervisor` feeds it."""

    node: Node
    start: Start
    is_there: bool = True
    worker: RemoteWorker | None = None
    supervisor: Supervisor | None = None
    lost_at: float | None = None

    def launch(self) -> RemoteWorker:
        """Start its worker. Raises HostGone where it ended with its host, or the host has left."""
        if not self.is_there or (self.worker is not None and self.worker.has_vanished):
            raise HostGone("was lost: its host has left the cluster")
        self.worker = self.start(self.node)
        return self.worker


@dataclass
class Members:
    """The hosts of a cluster, as workers of a queue. `say` tells a sentence to whoever started the app."""

    queue: WorkerQueue
    here: Facts
    start: Start
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    sentences: dict[str, str] = field(default_factory=dict)
    """By host: what was said last of it."""
    _slots: dict[str, list[_Slot]] = field(default_factory=dict)
    """By node. A node that is refused has none."""

    def update(self, nodes: Iterable[Node]) -> None:
        """Take the nodes of the table as those that are there now."""
        there = {node.id: node for node in nodes if not node.is_here}
        for gone in self._slots.keys() - there.keys():
            self._leave(self._slots.pop(gone))
        for node in there.values():
            if node.id not in self._slots:
                self._slots[node.id] = self._join(node)
            self._slots[node.id] = [self._renewed(slot) for slot in self._slots[node.id]]

    def _join(self, node: Node) -> list[_Slot]:
        refused = refusal(node, self.here)
        self._tell(node, refused or f"{node.host} has joined with {_gpus(node)}.")
        return [] if refused else [self._add(node) for _ in range(node.gpus)]

    def _leave(self, slots: list[_Slot]) -> None:
        for slot in slots:
            slot.is_there = False
        if slots:
            self._tell(slots[0].node, f"{slots[0].node.host} has left the cluster.")

    def _add(self, node: Node) -> _Slot:
        slot = _Slot(node, self.start)
        slot.supervisor = self.queue.add(slot.launch)
        return slot

    def _renewed(self, slot: _Slot) -> _Slot:
        """The slot, or a new one where its worker was lost a while ago and its host is still in the table."""
        assert slot.supervisor is not None, "a slot is fed from its start"
        if not slot.supervisor.is_retired:
            return slot
        if slot.lost_at is None:
            slot.lost_at = self.clock()
        return self._add(slot.node) if self.clock() - slot.lost_at >= _REST_S else slot

    def _tell(self, node: Node, sentence: str) -> None:
        self.sentences[node.host] = sentence
        self.say(sentence)


class Follower(threading.Thread):
    """Asks the cluster over and over which hosts it has, and gives their GPUs to a queue."""

    def __init__(self, queue: WorkerQueue, address: str, worker: Sequence[str] = ()) -> None:
        super().__init__(name="cluster", daemon=True)
        self._queue, self._address, self._worker = queue, address, worker
        self._closed = threading.Event()
        self._watch: subprocess.Popen[str] | None = None
        self.members: Members | None = None

    def run(self) -> None:
        """Follow the table of nodes: the body of the thread."""
        self.members = Members(self._queue, facts_here(), self._start_worker, _say)
        while not self._closed.is_set():
            has_come = self._follow(self.members)
            if self._closed.is_set():
                return
            self.members.update(())
            if not has_come:
                _say(f"The cluster at {self._address} does not answer: this host's GPUs serve alone.")
            self._closed.wait(_AGAIN_S)

    def close(self) -> None:
        """Ask no more."""
        self._closed.set()
        if self._watch is not None:
            self._watch.kill()

    def _follow(self, members: Members) -> bool:
        """Read tables until the watch ends; True if any came."""
        has_come = False
        with subprocess.Popen(
            [sys.executable, "-m", "kernels.worker.cluster.watch", self._address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **project_path()},
            text=True,
            start_new_session=True,
        ) as self._watch:
            assert self._watch.stdout is not None, "the watch was started with a pipe"
            try:
                for said in self._watch.stdout:
                    if self._closed.is_set():
                        break
                    members.update(table(said))
                    has_come = True
            except ValueError as error:
                _log.warning("No table of nodes: %s", error)
            self._watch.kill()
        return has_come

    def _start_worker(self, node: Node) -> RemoteWorker:
        relay = (sys.executable, "-m", "kernels.worker.cluster.relay")
        return RemoteWorker((*relay, self._address, node.id, *self._worker))


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
