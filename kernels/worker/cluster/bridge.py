"""python -m kernels.worker.cluster.bridge ADDRESS [NODE [ENGINE]]: the app's way into the cluster.

With a NODE, a worker on that node: messages pass in both directions, over these pipes and Ray. Without, it
prints the nodes as a line of JSON whenever they change. It ends when its stdin closes; Ray then ends the
actor. ENGINE is module:function, for tests.
"""

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from pkgutil import resolve_name
from queue import SimpleQueue
from typing import Any, NoReturn, TextIO

import ray
from ray.exceptions import ActorDiedError, ActorUnavailableError, OutOfMemoryError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from kernels.worker.child import claim_stdout, serve
from kernels.worker.cluster.hosts import ENDED, HOW, Node
from kernels.worker.messages import encode

_EVERY_S, _LOOK_S = 2.0, 0.5
_GONE_S = 20.0
"""Ray counts a host as gone after ten seconds without an answer."""
_HEAD = "node:__internal_head__"


class FarEngine:
    """The worker on its own host, as an actor: Ray has chosen the GPU and set CUDA_VISIBLE_DEVICES."""

    def __init__(self, engine: str) -> None:
        self._inbox: SimpleQueue[str] = SimpleQueue()
        self._outbox: SimpleQueue[str] = SimpleQueue()
        threading.Thread(target=self._serve, args=(engine,), daemon=True).start()

    def _serve(self, engine: str) -> None:
        try:
            lines = iter(self._inbox.get, "")
            serve(resolve_name(engine), lines, lambda message: self._outbox.put(encode(message)))
        finally:
            error = sys.exc_info()[1]
            self._outbox.put(f"{HOW}ended: {type(error).__name__}: {' '.join(str(error).split())}")

    def send(self, line: str) -> None:
        self._inbox.put(line)

    def receive(self) -> Iterator[str]:
        line = ""
        while not line.startswith(HOW):
            line = self._outbox.get()
            yield line


def main(arguments: list[str]) -> None:
    stdout = claim_stdout()  # Ray prints.
    address, *rest = arguments
    # Ray tells the far side to look for modules in this folder first: an empty one, not another version's.
    os.chdir("/")
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except (OSError, RuntimeError):
        _end(1, "its cluster does not answer any more")
    if rest:
        _work(stdout, *rest)
    _watch(stdout)


def _nodes() -> list[Node]:
    here = ray.get_runtime_context().get_node_id()
    return [
        Node(
            id=node["NodeID"],
            host=node["NodeManagerAddress"],
            gpus=int(node["Resources"].get("GPU", 0)),
            is_here=node["NodeID"] == here,
            is_head=_HEAD in node["Resources"],
            labels=node["Labels"],
        )
        for node in ray.nodes()
        if node["Alive"]
    ]


def _is_there(node: str) -> bool:
    return any(one.id == node for one in _nodes())


def _answers(node: str) -> bool:
    """True if Ray takes a connection on a node: one that was just killed is still counted as alive."""
    for one in ray.nodes():
        if one["NodeID"] == node and one["Alive"]:
            with suppress(OSError):
                socket.create_connection((one["NodeManagerAddress"], one["NodeManagerPort"]), _LOOK_S).close()
                return True
    return False


def _work(stdout: TextIO, node: str, engine: str = "kernels.worker.child:load") -> NoReturn:
    """Be the worker on a node, with one of its GPUs. The sentences on its end name no address."""
    if not _is_there(node):
        _end(1, "its host has left the cluster")
    affinity = NodeAffinitySchedulingStrategy(node, soft=False)
    # Two calls at a time: one listens, one sends.
    options = {"num_cpus": 0, "num_gpus": 1, "max_concurrency": 2, "scheduling_strategy": affinity}
    actor: Any = ray.remote(FarEngine).options(**options).remote(engine)
    _on_input(actor.send.remote)
    try:
        for reference in actor.receive.options(num_returns="streaming").remote():
            line = ray.get(reference)
            if line.startswith(HOW):
                _end(ENDED, line.removeprefix(HOW))
            stdout.write(line)
            stdout.flush()
    except OutOfMemoryError:
        _end(ENDED, "was ended: the memory of its host ran out")
    except RayError as error:
        print(error, file=sys.stderr)
        # A host that answers no call may not be counted as gone yet.
        until = time.monotonic() + _GONE_S * isinstance(error, ActorUnavailableError)
        while (is_there := _answers(node)) and time.monotonic() < until:
            time.sleep(_LOOK_S)
        if not is_there:
            _end(1, "its host does not answer any more")
        if isinstance(error, ActorDiedError) and not error.actor_init_failed:
            _end(ENDED, "ended: its process crashed or was killed")
        _end(ENDED, f"ended: {str(error).strip().splitlines()[-1]}")
    _end(ENDED, "ended")


def _watch(stdout: TextIO) -> NoReturn:
    _on_input(lambda line: None)
    before = ""
    while True:
        line = json.dumps([asdict(node) for node in _nodes()])
        if line != before:
            stdout.write(f"{line}\n")
            stdout.flush()
        before = line
        time.sleep(_EVERY_S)


def _on_input(send: Callable[[str], object]) -> None:
    def read() -> None:
        for line in sys.stdin:
            send(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()


def _end(code: int, how: str) -> NoReturn:
    sys.stderr.write(f"\n{HOW}{how}\n")
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    # By its own name: Ray hands a class of the main module over as code, which is none of the far host's.
    import_module("kernels.worker.cluster.bridge").main(sys.argv[1:])
