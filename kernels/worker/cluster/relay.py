"""python -m kernels.worker.cluster.relay ADDRESS NODE [COMMAND …]: a worker on a node, behind these pipes.

It hands lines over in both directions and ends as the worker does. Where it ends first, by whatever cause,
Ray ends the actor, and the worker ends with that.
"""

import os
import sys
import threading
from typing import Any, Protocol, TextIO

from kernels.worker.child import claim_stdout
from kernels.worker.cluster.hosted import Hosted, Report
from kernels.worker.cluster.link import connect, nodes
from kernels.worker.cluster.remote import SAYS_HOW, WORKER_ENDED

_HEAR_S = 1.0
_ANSWER_S = 30.0
"""A host that says nothing for so long is gone; Ray itself finds out sooner."""
_START_S = 150.0
_GRACE_S = 2.0
_SILENT = "its host does not answer any more"
"""Without an address: readers see it, and the terminal says which host has left."""


class HostLost(Exception):
    """Raised where the host does not answer; the text is a sentence without its full stop."""


class Worker(Protocol):
    """What a relay needs of a worker: Hosted has it."""

    def send(self, line: str) -> None: ...
    def hear(self, wait_s: float) -> Report: ...
    def close(self, grace_s: float) -> None: ...


def relay(worker: Worker, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> None:
    """Hand lines over until one side ends; this ends the process."""
    threading.Thread(target=_hand_over, args=(worker, stdin), daemon=True).start()
    told = ""
    while True:
        try:
            report = worker.hear(_HEAR_S)
        except HostLost as error:
            _end(1, str(error), stderr)
        stdout.writelines(report.lines)
        stdout.flush()
        stderr.write(report.stderr.removeprefix(told))
        stderr.flush()
        told = report.stderr
        if report.how is not None:
            _end(WORKER_ENDED, report.how, stderr)


def _hand_over(worker: Worker, stdin: TextIO) -> None:
    try:
        for line in stdin:
            worker.send(line)
        worker.close(_GRACE_S)
    except HostLost:
        return  # The other thread hears it too, and says so.
    os._exit(0)


def _end(code: int, sentence: str, stderr: TextIO) -> None:
    stderr.write(f"\n{SAYS_HOW}{' '.join(sentence.split())}\n")
    stderr.flush()
    os._exit(code)


def actor_on(ray: Any, node: str, command: tuple[str, ...]) -> Any:
    """A worker as an actor on a node, which holds one of the node's GPUs."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    there = NodeAffinitySchedulingStrategy(node, soft=False)
    # Three calls at a time: one listens, one sends, one closes.
    options = {"num_cpus": 0, "num_gpus": 1, "max_concurrency": 3, "scheduling_strategy": there}
    return ray.remote(Hosted).options(**options).remote(command)


class OverRay:
    """A worker that is a Ray actor."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor
        self._started = False

    def send(self, line: str) -> None:
        self._ask(self._actor.send, line)

    def hear(self, wait_s: float) -> Report:
        report = self._ask(self._actor.hear, wait_s)
        self._started = True
        return report

    def close(self, grace_s: float) -> None:
        self._ask(self._actor.close, grace_s)

    def _ask(self, method: Any, argument: object) -> Any:
        """The method's answer. Raises HostLost where none comes."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(method.remote(argument), timeout=_ANSWER_S if self._started else _START_S)
        except errors.OutOfMemoryError:
            return Report((), "", "was ended: the memory of its host ran out")
        except errors.ActorDiedError as error:
            if error.actor_init_failed:
                why = str(error).strip().splitlines()[-1]
                return Report((), "", f"could not be started on its host: {why}")
            raise HostLost(_SILENT) from error
        except errors.RayError as error:
            raise HostLost(_SILENT) from error


def main(arguments: list[str]) -> None:
    """Relay between this process's pipes and a worker on the node."""
    stdout = claim_stdout()  # Ray prints.
    address, node, *command = arguments
    ray = connect(address)
    if node not in {one.id for one in nodes()}:
        _end(1, "its host has left the cluster", sys.stderr)
    relay(OverRay(ray, actor_on(ray, node, tuple(command))), sys.stdin, stdout, sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
