"""Print where `make app` will serve, or why it cannot: python -m pages.kit.server.start HOST PORT BASE"""

import errno
import os
import re
import socket
import sys
from collections.abc import Mapping

from kernels.measure.jobs import Allowance
from kernels.worker.queue import runs_a_minute

HIGHEST, USUAL = 65535, 8501
WILDCARDS = ("0.0.0.0", "::")


def trouble(host: str, port: str) -> str | None:
    """Reason why no server can start at an address, with a remedy; None if one can."""
    if not re.fullmatch(r"[1-9][0-9]{0,4}", port, re.ASCII) or int(port) > HIGHEST:
        need = f"a whole number from 1 to {HIGHEST} is needed"
        return f"PORT={port} is no port: {need}. Try: make app PORT={USUAL}"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            # As the server does it: a port whose last server has just ended is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        return _sentence(error, host, int(port))
    return None


def limits_trouble(environment: Mapping[str, str]) -> str | None:
    try:
        Allowance.of(environment), runs_a_minute(environment)
    except ValueError as error:
        return f"{error}. Leave it out for the usual limit."
    return None


def _sentence(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} is taken, perhaps by another FP8 Explorer. Open http://localhost:{port} to see, or "
            f"start this one elsewhere: make app PORT={port + 1 if port < HIGHEST else USUAL}"
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"Port {port} is reserved for the system's administrator. Try: make app PORT={USUAL}"
    return (
        f"HOST={host} is no address of this computer. HOST=localhost serves this computer, HOST=0.0.0.0 "
        "others too."
    )


def address(host: str, port: str, base: str = "") -> str:
    end = f"{port}/{base.strip('/')}".rstrip("/")
    if host not in WILDCARDS:
        return f"http://{f'[{host}]' if ':' in host else host}:{end}"
    return (
        f"http://localhost:{end} here, http://{socket.gethostname()}:{end} or this computer's IP address "
        "from others"
    )


def main(arguments: list[str]) -> int:
    host, port, base = arguments
    if (why := trouble(host, port) or limits_trouble(os.environ)) is not None:
        sys.stderr.write(f"{why}\n")
        return 1
    sys.stdout.write(f"FP8 Explorer: {address(host, port, base)}  (Ctrl+C stops it)\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
