"""python -m kernels.worker.cluster.watch ADDRESS: the table of nodes, a line every two seconds.

It ends when its stdin closes. With --once it prints one line.
"""

import json
import os
import sys
import threading
import time
from dataclasses import asdict

from kernels.worker.child import claim_stdout
from kernels.worker.cluster.link import Node, connect, nodes

_EVERY_S = 2.0


def line(table: list[Node]) -> str:
    """A table as a line, newline included."""
    return json.dumps([asdict(node) for node in table]) + "\n"


def table(said: str) -> list[Node]:
    """The table of a line. Raises ValueError for a line that is none."""
    try:
        return [Node(**node) for node in json.loads(said)]
    except TypeError as error:
        raise ValueError(f"a table of nodes is a list of them, got {said[:80]!r}") from error


def _end_with_stdin() -> None:
    sys.stdin.read()
    os._exit(0)


def main(arguments: list[str]) -> None:
    """Print the table until stdin closes."""
    stdout = claim_stdout()  # Ray prints.
    connect(arguments[0])
    if "--once" not in arguments:
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    while True:
        stdout.write(line(nodes()))
        stdout.flush()
        if "--once" in arguments:
            return
        time.sleep(_EVERY_S)


if __name__ == "__main__":
    main(sys.argv[1:])
