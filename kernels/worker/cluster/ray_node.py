"""This host's part of the cluster: the processes of one Ray node, which end with this process."""

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType

from kernels.worker.cluster.facts import Facts
from kernels.worker.launch import project_path

FIRST_PORT = 18600
"""A node listens on the hundred ports from here on: the first is the cluster's own, on the first host."""
_WORKER_PORTS = (10, 99)
_LINES_KEPT = 200
_OBJECT_STORE_BYTES = 80_000_000
"""Little more than Ray's least: a message is small."""
_STOP_S = 20.0
_STARTED = "Ray runtime started"
_ADDRESS = re.compile(r"ray start --address='([^']+)'")
_VERSION = re.compile(r"\b(Ray|Python): (\S+)")
_ERROR_LINE = re.compile(r"^[\w.]*(Error|Exception)\b.*")
_PARENT_DIED = 1
"""PR_SET_PDEATHSIG of prctl: the signal that a process gets when its parent dies."""
_HEALTH = {
    "health_check_period_ms": 2000,
    "health_check_timeout_ms": 3000,
    "health_check_failure_threshold": 3,
    "gcs_rpc_server_reconnect_timeout_s": 20,
}
"""A host that does not answer has left after ten seconds; hosts whose first one is gone end after twenty."""


class CannotStart(Exception):
    """Raised where the node does not start; the text is a sentence for the reader."""


def first_node(host: str, port: int, facts: Facts) -> list[str]:
    """The arguments of `ray start` for the first host. It lends the cluster no GPU: the app uses its own."""
    return [
        "--head",
        f"--node-ip-address={host}",
        f"--port={port}",
        "--include-dashboard=false",
        "--no-monitor",
        f"--system-config={json.dumps(_HEALTH)}",
        *_node(port, 0, facts),
    ]


def further_node(address: str, port: int, gpus: int, facts: Facts) -> list[str]:
    """The arguments of `ray start` for another host."""
    return [f"--address={address}", *_node(port, gpus, facts)]


def _node(port: int, gpus: int, facts: Facts) -> list[str]:
    labels = ",".join(f"{name}={value}" for name, value in facts.labels().items())
    low, high = _WORKER_PORTS
    return [
        "--block",
        "--num-cpus=0",
        f"--num-gpus={gpus}",
        f"--object-store-memory={_OBJECT_STORE_BYTES}",
        "--include-log-monitor=false",
        f"--labels={labels}",
        f"--node-manager-port={port + 1}",
        f"--object-manager-port={port + 2}",
        f"--runtime-env-agent-port={port + 3}",
        f"--dashboard-agent-listen-port={port + 4}",
        f"--dashboard-agent-grpc-port={port + 5}",
        f"--metrics-export-port={port + 6}",
        f"--min-worker-port={port + low}",
        f"--max-worker-port={port + high}",
    ]


class RayNode:
    """A Ray node, as long as its `with` block runs. Raises CannotStart where it does not start.

    `address` is the cluster's, once the node of the first host has started.
    """

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self.address = ""
        self._arguments, self._environment = arguments, environment
        self._said: deque[str] = deque(maxlen=_LINES_KEPT)

    def __enter__(self) -> "RayNode":
        self._folder = tempfile.mkdtemp(prefix="fp8-explorer-")
        fate = partial(_share_fate, ctypes.CDLL(None)) if sys.platform == "linux" else None
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "ray.scripts.scripts",
                "start",
                *self._arguments,
                f"--temp-dir={self._folder}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **project_path(), **self._environment, "PYTHONUNBUFFERED": "1"},
            text=True,
            start_new_session=True,
            preexec_fn=fate,
        )
        if not self._has_started():
            self._end()
            raise CannotStart(sentence(list(self._said)))
        threading.Thread(target=self._has_started, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def wait(self) -> None:
        """Wait until the node ends by itself."""
        self._process.wait()

    def _has_started(self) -> bool:
        """Read its output up to the line that says so, or to its end."""
        assert self._process.stdout is not None, "the node was started with a pipe"
        has_started = False
        for text in self._process.stdout:
            self._said.append(text.rstrip())
            has_started = has_started or _STARTED in text
            if found := _ADDRESS.search(text):
                self.address = found[1]
            if has_started and "--block" in text:
                return True
        return False

    def _end(self) -> None:
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        # Where the first host has gone, processes of Ray wait for it for minutes.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)


def _share_fate(libc: ctypes.CDLL) -> None:
    """In the child: end when the parent dies, by whatever cause, and at the SIGINT that ends a node.

    A shell that lets the command ignore Ctrl-C would have Ray ignore it, too.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    libc.prctl(_PARENT_DIED, signal.SIGTERM)


def sentence(said: Sequence[str]) -> str:
    """Why a node has not started, from what Ray said."""
    text = "\n".join(said)
    if "AuthenticationError" in text or "InvalidAuthToken" in text:
        return "The first host refuses this host's token: copy its file .cluster-token into this folder."
    if "Version mismatch" in text:
        found = _VERSION.findall(text)
        there, here = dict(found[:2]), dict(found[2:])
        names = [name for name in here if here[name] != there.get(name)]
        told = "; ".join(f"{name} {there.get(name)} there, {here[name]} here" for name in names)
        return f"The first host differs from this one: {told}. Make both alike."
    errors = [line for line in said if _ERROR_LINE.match(line)]
    why = (errors or [line for line in said if line.strip()] or ["Ray said nothing"])[-1]
    return f"Ray does not start here: {why}"
