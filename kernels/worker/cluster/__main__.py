"""python -m kernels.worker.cluster head|join: the two commands of a cluster. make says them for you."""

import argparse
import getpass
import os
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from types import FrameType

from kernels.worker.cluster.facts import Facts, difference, facts_here, from_labels
from kernels.worker.cluster.members import CLUSTER_VARIABLE
from kernels.worker.cluster.ray_node import FIRST_PORT, CannotStart, RayNode, first_node, further_node
from kernels.worker.cluster.token import TOKEN_FILE, new_token, token_environment
from kernels.worker.cluster.watch import table
from kernels.worker.launch import project_path, visible_gpus

_ENDED_BY_SIGTERM = 143
"""The exit code that shells give to a program that SIGTERM ended."""
_CONNECT_S = 5.0
_ASK_S = 60.0
_SEEN_S = 5.0
"""A refused host stays for so long that the first host sees it and says why, too."""


_RAY = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Ray refuses another patch of Python where nobody reads it; the hosts say it in a sentence.
    "RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL": "minor",
}


def main() -> None:
    """Run one of the two commands; a sentence on stderr says what is wrong."""
    arguments = _arguments()
    signal.signal(signal.SIGTERM, _end)
    try:
        if find_spec("ray") is None:
            raise ValueError("Ray is not installed: pip install -r requirements-cluster.txt, or use make.")
        sys.exit(_head(arguments) if arguments.command == "head" else _join(arguments))
    except (ValueError, CannotStart) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m kernels.worker.cluster", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    head = commands.add_parser("head", help="start the cluster on this host, and a command beside it")
    head.add_argument("host", help="this host's address in the network of the hosts, such as 10.0.0.1")
    head.add_argument("program", nargs="+", metavar="COMMAND", help="the app, after --")
    join = commands.add_parser("join", help="lend this host's GPUs to the first host")
    join.add_argument("address", help=f"the first host's address, such as 10.0.0.1 or 10.0.0.1:{FIRST_PORT}")
    join.add_argument("--gpus", type=int, help="how many GPUs to lend; else all that are visible")
    for command in (head, join):
        command.add_argument(
            "--port", type=int, default=FIRST_PORT, help="the first of this host's 100 ports"
        )
    return parser.parse_args()


def _head(arguments: argparse.Namespace) -> int:
    """Start the cluster, run the app, end the cluster; the app's exit code."""
    variables = {**_RAY, **token_environment(os.environ, new_token)}
    with RayNode(first_node(arguments.host, arguments.port, facts_here()), variables) as node:
        _say(
            f"This host's cluster is at {node.address}. On a further host, in a clone with the file "
            f"{TOKEN_FILE.name} of this folder: make cluster HEAD={node.address}"
        )
        here = {**variables, CLUSTER_VARIABLE: node.address}
        with subprocess.Popen(arguments.program, env={**os.environ, **here}) as app:
            try:
                return app.wait()
            except (KeyboardInterrupt, SystemExit):
                # Ctrl-C has reached the app too, as the terminal sends it to both.
                app.terminate()
                return app.wait()


def _join(arguments: argparse.Namespace) -> int:
    """Lend this host's GPUs until the first host ends the cluster, or Ctrl-C."""
    address = arguments.address if ":" in arguments.address else f"{arguments.address}:{FIRST_PORT}"
    if not arguments.address:
        raise ValueError("Which is the first host? Its address is missing: make cluster HEAD=10.0.0.1")
    gpus = len(visible_gpus(os.environ)) if arguments.gpus is None else arguments.gpus
    if gpus < 1:
        raise ValueError("This host has no GPU to lend: NVIDIA's driver lists none.")
    _reach(address)
    variables = {**_RAY, **token_environment(os.environ, _ask_for_token)}
    facts = facts_here()
    with RayNode(further_node(address, arguments.port, gpus, facts), variables) as node:
        theirs = _first_host(address, variables)
        if theirs is None:
            raise ValueError(f"{address} does not run FP8 Explorer: start it there, with make app CLUSTER=…")
        if told := difference(theirs, facts):
            time.sleep(_SEEN_S)
            raise ValueError(
                f"{address} does not use this host, because it differs: {told}. Make both alike."
            )
        _say(f"This host has joined {address} and lends {gpus} GPU{'s' * (gpus > 1)}. Ctrl-C leaves.")
        node.wait()
    _say(f"The cluster at {address} has ended.")
    return 0


def _reach(address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), _CONNECT_S).close()
    except (OSError, ValueError) as error:
        raise ValueError(
            f"Nothing answers at {address} ({error}): start the app there first (make app CLUSTER={host}), "
            f"and let its firewall pass TCP ports {FIRST_PORT} to {FIRST_PORT + 99}, in both directions."
        ) from error


def _ask_for_token() -> str | None:
    """The token as typed, unseen; None where nobody can type."""
    return (
        getpass.getpass(f"The text of {TOKEN_FILE.name} on the first host: ") if sys.stdin.isatty() else None
    )


def _first_host(address: str, variables: dict[str, str]) -> Facts | None:
    """The facts of the first host; None where it runs another project."""
    try:
        asked = subprocess.run(
            [sys.executable, "-m", "kernels.worker.cluster.watch", address, "--once"],
            env={**os.environ, **project_path(), **variables},
            capture_output=True,
            text=True,
            timeout=_ASK_S,
            check=False,
        )
        first = next(node for node in table(asked.stdout or "[]") if node.is_head)
    except (subprocess.TimeoutExpired, StopIteration) as error:
        raise CannotStart(f"{address} does not answer any more.") from error
    return from_labels(first.labels)


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(_ENDED_BY_SIGTERM)


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
