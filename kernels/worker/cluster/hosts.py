"""The app's side of the cluster: hosts that lend their GPUs may come and go while the app runs.

A host's facts are labels of its Ray node. A host whose versions or sources differ is refused in a sentence.
"""

import json
import os
import platform
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kernels.nvml import driver
from kernels.paths import TOP
from kernels.worker.queue import WorkerQueue
from kernels.worker.worker import Lost, WorkerProcess, project_path, visible_gpus

CLUSTER_VARIABLE = "FP8_EXPLORER_CLUSTER"
"""The cluster's address, such as 10.0.0.1:18600; without it there is no cluster."""
PACKAGES = ("ray", "torch", "triton", "numpy", "ml_dtypes", "msgspec")
_READ = ("fp8core/**/*.py", "kernels/**/*.py", "assets/tuned/*.json", "assets/cost/*.json")
_PREFIX = "fp8-explorer/"
_SOURCES, _GPUS, _GPU_IDS = (_PREFIX + name for name in ("sources", "gpus", "gpu-ids"))
_LABEL = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_LABEL = 63
_DIGITS = 12
_AGAIN_S = 5.0
_BRIDGE = (sys.executable, "-m", "kernels.worker.cluster.bridge")

ENDED = 70
"""The bridge's exit code where the far worker ended, and its host is well."""
HOW = "It ended: "
"""The start of the line of the bridge's stderr that says how: Ray writes there too, even after it."""

Facts = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Node:
    id: str
    host: str
    gpus: int = 0
    is_here: bool = False
    is_head: bool = False
    labels: Facts = field(default_factory=dict)


def facts_here(top: Path = TOP) -> dict[str, str]:
    """This host's versions, digest of sources and GPUs, as labels of a Ray node."""
    digest = sha256()
    for path in sorted(path for pattern in _READ for path in top.glob(pattern)):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(top).as_posix()} {len(content)}\n".encode() + content)
    gpus = driver()
    facts = {f"{_PREFIX}python": platform.python_version(), _SOURCES: digest.hexdigest()[:_DIGITS]}
    for name in PACKAGES:
        try:
            facts[_PREFIX + name] = version(name)
        except PackageNotFoundError:
            continue
    facts[_GPUS] = "-and-".join(sorted(set(gpus.names)))
    facts[_GPU_IDS] = ".".join(gpu.removeprefix("GPU-")[:_DIGITS] for gpu in visible_gpus(os.environ))
    # A label takes no + such as that of 2.11.0+cu130.
    labels = {name: _LABEL.sub("_", text)[:_LONGEST_LABEL].strip("_.-") for name, text in facts.items()}
    return {name: text for name, text in labels.items() if text}


def difference(theirs: Facts, ours: Facts) -> str:
    """The facts that differ, both sides named, as a part of a sentence on the other host; else ""."""
    names = dict.fromkeys(name for name in (*ours, *theirs) if name.startswith(_PREFIX))
    return "; ".join(
        f"{name.removeprefix(_PREFIX)} {theirs.get(name, 'missing')} there, {ours.get(name, 'missing')} here"
        for name in names
        if name not in {_GPUS, _GPU_IDS} and theirs.get(name) != ours.get(name)
    )


def refusal(node: Node, here: Facts) -> str:
    if _SOURCES not in node.labels:
        return f"{node.host} is not used: it does not run FP8 Explorer. Start it there with make cluster."
    if differences := difference(node.labels, here):
        return f"{node.host} is not used, because it differs from this host: {differences}. Make both alike."
    theirs, ours = (set(filter(None, facts.get(_GPU_IDS, "").split("."))) for facts in (node.labels, here))
    if theirs & ours:
        return f"{node.host} is not used: it lends GPUs that serve this host already."
    return "" if node.gpus else f"{node.host} is not used: it lends no GPU."


class FarWorker(WorkerProcess):
    def _end(self, code: int, lines: list[str]) -> Lost:
        reports = [line.removeprefix(HOW) for line in lines if line.startswith(HOW)]
        if not reports:
            return super()._end(code, lines)  # The bridge itself failed: another one may do.
        return Lost(reports[-1]) if code == ENDED else Lost(f"was lost: {reports[-1]}", with_host=True)


def node_lines(address: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*_BRIDGE, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **project_path()},
        text=True,
        start_new_session=True,
    )


def nodes_in(line: str) -> list[Node]:
    return [Node(**node) for node in json.loads(line)]


def first_host(address: str) -> Node:
    """The first host of a cluster. Raises ValueError if it does not answer."""
    with node_lines(address) as bridge:
        line = bridge.stdout.readline() if bridge.stdout is not None else ""
        bridge.kill()
    head = next((node for node in nodes_in(line or "[]") if node.is_head), None)
    if head is None:
        raise ValueError(f"{address} does not answer any more.")
    return head


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


class Follower(threading.Thread):
    """Follows the cluster's hosts, and gives their GPUs to a queue. `say` prints for the app's owner."""

    def __init__(
        self, queue: WorkerQueue, address: str, *engine: str, say: Callable[[str], None] = say
    ) -> None:
        super().__init__(name="cluster", daemon=True)
        self._queue, self._address, self._engine, self._say = queue, address, engine, say
        self._here: Facts = {}
        self._there: dict[str, Node] = {}
        self._closed = threading.Event()
        self._bridge: subprocess.Popen[str] | None = None

    def run(self) -> None:
        self._here = facts_here()
        while not self._closed.is_set():
            is_silent = True
            with node_lines(self._address) as self._bridge:
                for line in self._bridge.stdout or ():
                    self.update(nodes_in(line))
                    is_silent = False
                self._bridge.kill()
            if is_silent and not self._closed.is_set():
                self.update(())
                self._say(f"The cluster at {self._address} does not answer: this host's GPUs serve alone.")
            self._closed.wait(_AGAIN_S)

    def close(self) -> None:
        self._closed.set()
        if self._bridge is not None:
            self._bridge.kill()

    def update(self, nodes: Iterable[Node]) -> None:
        """Take these nodes as the present ones. A worker whose host has left retires by itself."""
        present = {node.id: node for node in nodes if not node.is_here}
        for id_ in self._there.keys() - present.keys():
            if not refusal(self._there[id_], self._here):
                self._say(f"{self._there[id_].host} has left the cluster.")
        for node in (present[new] for new in present.keys() - self._there.keys()):
            gpus = f"{node.gpus} × {node.labels.get(_GPUS, 'GPU').replace('_', ' ')}"
            reason = refusal(node, self._here)
            self._say(reason or f"{node.host} has joined with {gpus}.")
            for _ in range(0 if reason else node.gpus):
                self._queue.add(partial(self._start, node))
        self._there = present

    def _start(self, node: Node) -> FarWorker:
        return FarWorker([*_BRIDGE, self._address, node.id, *self._engine], env=project_path())
