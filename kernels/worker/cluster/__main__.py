"""python -m kernels.worker.cluster head|join: the two commands of a cluster, behind make.

Ray's token lets a host in: whoever knows it may run programs on every host of the cluster. It stands in Ray's
file ~/.ray/auth_token, which its owner alone may read, or in RAY_AUTH_TOKEN; never on a command line, which
every user of a host can see.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec

from kernels.worker.cluster.hosts import CLUSTER_VARIABLE, difference, facts_here, first_host, say
from kernels.worker.cluster.node import ENVIRONMENT, FIRST_PORT, first_node, further_node, ray_node
from kernels.worker.worker import visible_gpus

_ENDED_BY_SIGTERM = 143  # as shells have it
_CONNECT_S = 5.0
_SHOWN_S = 5.0
"""A refused host stays until the first host has seen it and said why."""


def main() -> None:
    arguments = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_ENDED_BY_SIGTERM))
    try:
        if find_spec("ray") is None:
            raise ValueError("Ray is not installed: pip install -r requirements-cluster.txt, or use make.")
        os.environ.update(ENVIRONMENT)
        sys.exit(_head(arguments) if arguments.command == "head" else _join(arguments))
    except ValueError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m kernels.worker.cluster", description=(__doc__ or "").partition("\n")[0]
    )
    commands = parser.add_subparsers(dest="command", required=True)
    head = commands.add_parser("head", help="start the cluster on this host, and a command beside it")
    head.add_argument("host", help="this host's address in the network of the hosts, such as 10.0.0.1")
    head.add_argument("program", nargs="+", metavar="COMMAND", help="the app, after --")
    join = commands.add_parser("join", help="lend this host's GPUs to the first host")
    join.add_argument("address", help=f"the first host's address, such as 10.0.0.1 or 10.0.0.1:{FIRST_PORT}")
    join.add_argument("--gpus", type=int, help="how many GPUs to lend; else all that are visible")
    for each in (head, join):
        each.add_argument("--port", type=int, default=FIRST_PORT, help="the first of this host's 100 ports")
    return parser.parse_args()


def _head(arguments: argparse.Namespace) -> int:
    if not os.environ.get("RAY_AUTH_TOKEN"):
        command = (sys.executable, "-m", "ray.scripts.scripts", "get-auth-token", "--generate")
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    address = f"{arguments.host}:{arguments.port}"
    with ray_node(first_node(arguments.host, arguments.port, facts_here())):
        say(
            f"This host's cluster is at {address}. On a further host, with the file ~/.ray/auth_token of "
            f"this one: make cluster HEAD={address}"
        )
        with subprocess.Popen(arguments.program, env={**os.environ, CLUSTER_VARIABLE: address}) as app:
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
    facts = facts_here()
    with ray_node(further_node(address, gpus, arguments.port, facts)) as node:
        if differences := difference(first_host(address).labels, facts):
            time.sleep(_SHOWN_S)
            raise ValueError(
                f"{address} does not use this host, because it differs: {differences}. Make both alike."
            )
        say(f"This host has joined {address} and lends {gpus} GPU{'s' * (gpus > 1)}. Ctrl-C leaves.")
        node.wait()
    say(f"The cluster at {address} has ended.")
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


if __name__ == "__main__":
    main()
