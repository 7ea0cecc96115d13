"""This host's part of the cluster: the processes of one Ray node, which end with this process."""

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from tempfile import TemporaryDirectory

from kernels.worker.worker import project_path

FIRST_PORT = 18600
"""The first of a node's hundred ports: on the first host, the cluster's own."""
_OBJECT_STORE_BYTES = 80_000_000  # little more than Ray's least
_STOP_S = 20.0
_STARTED = "Ray runtime started"
_ERROR_LINE = re.compile(r"^[\w.]*(Error|Exception)\b.*|.*[Vv]ersion mismatch.*")
_PARENT_DIED = 1  # PR_SET_PDEATHSIG of prctl
_LISTENERS = ("node-manager", "object-manager", "runtime-env-agent")
_LISTENERS += ("dashboard-agent-listen", "dashboard-agent-grpc", "metrics-export")
_HEALTH = {
    "health_check_period_ms": 2000,
    "health_check_timeout_ms": 3000,
    "health_check_failure_threshold": 3,
    "gcs_rpc_server_reconnect_timeout_s": 20,
}
"""A host that does not answer has left after ten seconds; hosts whose first one is gone end after twenty."""
ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token"}


def first_node(host: str, port: int, labels: Mapping[str, str]) -> list[str]:
    """The command of the first host. It lends no GPU: the app uses its own."""
    own = [f"--node-ip-address={host}", f"--port={port}", f"--system-config={json.dumps(_HEALTH)}"]
    own += ["--head", "--include-dashboard=false", "--no-monitor"]
    return [*_start(port, 0, labels), *own]


def further_node(address: str, gpus: int, port: int, labels: Mapping[str, str]) -> list[str]:
    return [*_start(port, gpus, labels), f"--address={address}"]


def _start(port: int, gpus: int, labels: Mapping[str, str]) -> list[str]:
    return [
        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--block"),
        *("--num-cpus=0", f"--num-gpus={gpus}", f"--object-store-memory={_OBJECT_STORE_BYTES}"),
        f"--labels={','.join(f'{name}={text}' for name, text in labels.items())}",
        "--include-log-monitor=false",
        *(f"--{name}-port={port + number}" for number, name in enumerate(_LISTENERS, 1)),
        *(f"--min-worker-port={port + 10}", f"--max-worker-port={port + 99}"),
    ]


@contextmanager
def ray_node(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    with TemporaryDirectory(prefix="fp8-explorer-", ignore_cleanup_errors=True) as folder:
        node = subprocess.Popen(
            [*command, f"--temp-dir={folder}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **project_path(), **ENVIRONMENT, "PYTHONUNBUFFERED": "1"},
            text=True,
            start_new_session=True,
            preexec_fn=partial(_share_fate, ctypes.CDLL(None)) if sys.platform == "linux" else None,
        )
        try:
            _await_start(node)
            # Ray goes on talking, and must not wait for a reader.
            threading.Thread(target=deque, args=(node.stdout, 0), daemon=True).start()
            yield node
        finally:
            _end(node)


def _await_start(node: subprocess.Popen[str]) -> None:
    """Read the node's output until it runs. Raises ValueError where it ends first."""
    output: list[str] = []
    for text in node.stdout or ():
        output.append(text.strip())
        if "--block" in text and any(_STARTED in line for line in output):
            return
    if any("AuthenticationError" in line or "InvalidAuthToken" in line for line in output):
        raise ValueError(
            "The first host refuses this host's token: copy its file ~/.ray/auth_token to this host."
        )
    errors = [line for line in output if _ERROR_LINE.match(line)] or [line for line in output if line]
    raise ValueError(f"Ray does not start here: {errors[-1] if errors else 'it said nothing'}")


def _end(node: subprocess.Popen[str]) -> None:
    node.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        node.wait(_STOP_S)
    # Processes of Ray wait minutes for a first host that has gone.
    with suppress(ProcessLookupError):
        os.killpg(node.pid, signal.SIGKILL)
    node.wait()


def _share_fate(libc: ctypes.CDLL) -> None:
    """In the child: end when the parent dies, and at the SIGINT that ends a node.

    A shell that lets the command ignore Ctrl-C would have Ray ignore it, too.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    libc.prctl(_PARENT_DIED, signal.SIGTERM)
