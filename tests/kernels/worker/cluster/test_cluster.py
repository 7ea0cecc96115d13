"""Contract: the two commands of a cluster, with Ray and nodes on this host, whose workers are the stand-in.

Each node has one GPU by its own account; nothing asks it.
"""

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from kernels.paths import TOP
from kernels.worker.cluster.hosts import Follower
from kernels.worker.jobs import Done, Failed, Running, Waiting
from kernels.worker.queue import WorkerQueue
from tests.kernels.worker.conftest import Bench
from tests.kernels.worker.shells import is_gone
from tests.kernels.worker.stand_in import Act, job

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: make cluster-test installs it"),
]
PATIENCE_S = 60.0
ENGINE = "tests.kernels.worker.stand_in:engine"
TOKEN = secrets.token_hex()
PORTS = range(20000 + os.getpid() % 100 * 100, 32000, 200)
"""The first ports of this run's nodes."""


HEAD = r"make cluster HEAD=(\S+)"


class Command:
    """One of the two commands, in a process group of its own, and what it has said."""

    def __init__(self, *arguments, token=TOKEN, top=TOP):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kernels.worker.cluster", *map(str, arguments)],
            cwd=top,
            env={**os.environ, "PYTHONPATH": str(top), "RAY_AUTH_TOKEN": token},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.said = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stderr:
            self.said += line

    def wait_for(self, pattern):
        """The match of what it says in time."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := re.search(pattern, self.said)):
            assert time.monotonic() < deadline, f"it has said {self.said!r}, not {pattern!r}"
            time.sleep(0.05)
        return found

    def vanish(self):
        """Kill all its processes at once, but for the worker: that one has to notice."""
        for pid in {self._process.pid, *self.descendants()} - set(stand_ins()):
            os.kill(pid, signal.SIGKILL)

    def descendants(self):
        """The pids of all that it started."""
        return list(descendants(self._process.pid))

    def end(self, number=signal.SIGINT):
        """End it by a signal, or wait until it ends by itself; its exit code."""
        if number is not None and self._process.poll() is None:
            self._process.send_signal(number)
        code = self._process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        self._process.stderr.close()
        return code


def own_address():
    """This host's address, as others see it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.connect(("192.0.2.1", 9))
        return asked.getsockname()[0]


@pytest.fixture(scope="module")
def head():
    """The address of a cluster, as its head's command says it."""
    command = Command("head", own_address(), "--port", PORTS[0], "--", "sleep", "600")
    yield command.wait_for(HEAD)[1]
    command.end(signal.SIGTERM)


@pytest.fixture
def command():
    """command(*arguments, token=…, top=…): one of the two commands, until the test is over."""
    made = []

    def make(*arguments, **options):
        made.append(Command(*arguments, **options))
        return made[-1]

    yield make
    for one in reversed(made):
        one.end()


@pytest.fixture
def join(head, command):
    """join(number, token=…, top=…): the command of a further host, the first or the second."""
    return lambda number, **options: command(
        "join", head, "--port", PORTS[1 + number], "--gpus", 1, **options
    )


class Served(Bench):
    """A queue that follows the cluster, and what was said of its hosts."""

    def wait(self, ticket, until=None):
        deadline = time.monotonic() + PATIENCE_S
        until = until or (lambda state: not isinstance(state, Waiting | Running) and hasattr(state, "row"))
        while not until(state := self.queue.state(ticket)):
            assert time.monotonic() < deadline, f"still {state}; {self.said}"
            time.sleep(0.01)
        return state

    def wait_said(self, text):
        deadline = time.monotonic() + PATIENCE_S
        while not any(text in sentence for sentence in self.said):
            assert time.monotonic() < deadline, f"not {text!r} but {self.said}"
            time.sleep(0.05)


@pytest.fixture
def served(head, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", TOKEN)
    made = Served(WorkerQueue(()), [])
    made.said = []
    follower = Follower(made.queue, head, ENGINE, say=made.said.append)
    follower.start()
    yield made
    follower.close()
    made.queue.close()
    follower.join(PATIENCE_S)
    assert stand_ins_are_gone()


def descendants(pid):
    """The pids of a process's children, and of theirs."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            yield from (child, *descendants(child))


def stand_ins():
    """The pids of the far workers: Ray names a process by its actor."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            title = entry.read_bytes()
        except OSError:
            continue
        if title.startswith(b"ray::FarEngine"):
            found.append(int(entry.parent.name))
    return found


def stand_ins_are_gone():
    return all(is_gone(pid, within_s=10.0) for pid in stand_ins())


def worker_of(state):
    assert isinstance(state, Done), state
    return state.row.machine.versions["pid"]


def is_running(state):
    return isinstance(state, Running)


def test_jobs_are_spread_over_hosts_that_join_while_the_app_runs(served, join):
    tickets = [served.queue.submit(job(Act.SLOW, m=m), f"session {m}") for m in (1, 2)]
    assert all(isinstance(served.queue.state(ticket), Waiting) for ticket in tickets)
    for number in (0, 1):
        join(number).wait_for("has joined .* and lends 1 GPU")
    for ticket in tickets:
        served.wait(ticket)
    more = [served.queue.submit(job(Act.SLOW, m=m), f"session {m}") for m in range(3, 9)]
    assert len({worker_of(served.wait(ticket)) for ticket in more}) == 2


def test_a_job_whose_host_is_killed_in_the_middle_is_begun_anew_on_another(served, join):
    first = join(0)
    ticket = served.queue.submit(job(Act.POLL_STOPPED), "s")
    served.wait(ticket, is_running)
    killed = stand_ins()
    first.vanish()
    served.wait(ticket, lambda state: isinstance(state, Waiting))
    join(1)
    served.wait(ticket, is_running)
    assert all(is_gone(pid) for pid in killed)
    assert len(stand_ins()) == 1
    served.queue.stop(ticket)


@pytest.mark.parametrize(
    ("act", "how"),
    [
        (Act.RAISE, "RuntimeError: CUDA error: an illegal"),
        (Act.SEGFAULT, "ended: its process crashed or was killed"),
    ],
)
def test_the_end_of_a_far_worker_is_told_and_the_next_job_gets_a_fresh_one(served, join, act, how):
    join(0)
    ended = served.wait(served.queue.submit(job(act), "s"), lambda state: isinstance(state, Failed))
    assert how in ended.reason
    worker_of(served.wait(served.queue.submit(job(Act.FINE), "s")))


def test_a_far_job_is_stopped(served, join):
    join(0)
    for act in (Act.POLL_STOPPED, Act.HANG):
        ticket = served.queue.submit(job(act), "s")
        served.wait(ticket, is_running)
        served.queue.stop(ticket)
        worker_of(served.wait(served.queue.submit(job(Act.FINE, m=int(act)), "s")))


def test_a_host_that_leaves_is_told_and_its_worker_ends(served, join):
    host = join(0)
    worker_of(served.wait(served.queue.submit(job(Act.FINE), "s")))
    assert len(stand_ins()) == 1
    assert host.end() == 130
    served.wait_said("has left the cluster")
    assert stand_ins_are_gone()


def test_a_host_with_other_sources_is_refused_on_both_terminals(served, join, tmp_path):
    for folder in ("kernels", "fp8core", "assets"):
        shutil.copytree(TOP / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    with open(tmp_path / "kernels/bits.py", "a") as source:
        source.write("# changed\n")
    other = join(0, top=tmp_path)
    served.wait_said("is not used, because it differs from this host: sources")
    other.wait_for("does not use this host, because it differs: sources .* there, .* here")
    assert not stand_ins()


def test_nobody_gets_in_without_the_token(served, head, join):
    other = join(0, token=secrets.token_hex())  # Ray tries for twenty seconds.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    asked = subprocess.run(
        [sys.executable, "-m", "kernels.worker.cluster.bridge", head],
        cwd=TOP,
        env={**environment, "RAY_AUTH_MODE": "disabled"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert asked.stdout == ""
    other.wait_for("refuses this host's token: copy its file")
    assert served.said == []


APP = f"""
import time
from kernels.worker.cluster.hosts import Follower
from kernels.worker.queue import WorkerQueue
from kernels.worker.jobs import Running
from tests.kernels.worker.stand_in import Act, job
import sys
queue = WorkerQueue(())
Follower(queue, sys.argv[1], {ENGINE!r}).start()
ticket = queue.submit(job(Act.HANG), "s")
while not isinstance(queue.state(ticket), Running):
    time.sleep(0.02)
print("running", flush=True)
time.sleep(600)
"""


def test_an_app_that_is_killed_leaves_nothing_behind(head, join):
    join(0)
    environment = {**os.environ, "PYTHONPATH": str(TOP), "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}
    with subprocess.Popen(
        [sys.executable, "-c", APP, head], cwd=TOP, env=environment, stdout=subprocess.PIPE, text=True
    ) as app:
        assert app.stdout.readline() == "running\n"
        assert len(stand_ins()) == 1
        app.kill()
    assert stand_ins_are_gone()


def test_nothing_stays_of_a_host_whose_first_host_is_gone(command):
    head = command("head", own_address(), "--port", PORTS[3], "--", "sleep", "600")
    other = command("join", head.wait_for(HEAD)[1], "--port", PORTS[4], "--gpus", 1)
    other.wait_for("has joined")
    pids = [*head.descendants(), *other.descendants()]
    assert len(pids) > 8
    head.end(signal.SIGTERM)
    other.end()
    assert all(is_gone(pid) for pid in pids)


def test_a_host_that_finds_no_cluster_says_so_at_once(command):
    nothing = command("join", f"{own_address()}:{PORTS[5]}", "--gpus", 1)
    nothing.wait_for("Nothing answers at .*make app CLUSTER=")
    assert nothing.end(None) == 1
