"""Gates: a stand-in waits at one until the test opens it, so that no test depends on who is faster.

    b = bench(closed=[Gate.JOB])
    ticket = b.queue.submit(job(Act.HELD), "s")      # it runs, and stays under way
    b.gates.open(Gate.JOB)

A gate is a file: a worker is another process, which is told the folder among its arguments.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

ARGUMENT = "gates="


class Gate(Enum):
    """Where a stand-in can be held; the value is the file's name."""

    LOAD = "load"
    JOB = "job"
    CHECK = "check"


@dataclass(frozen=True)
class Gates:
    """The gates of some stand-ins, in a folder of their own. Those in `closed` start closed."""

    folder: Path
    closed: Collection[Gate] = ()

    def __post_init__(self) -> None:
        self.folder.mkdir()
        for gate in set(Gate) - set(self.closed):
            self.open(gate)

    @property
    def argument(self) -> str:
        """What tells a stand-in where its gates are."""
        return f"{ARGUMENT}{self.folder}"

    def open(self, gate: Gate) -> None:
        (self.folder / gate.value).touch()

    def close(self, gate: Gate) -> None:
        (self.folder / gate.value).unlink()


def folder_in(arguments: Collection[str]) -> Path | None:
    """The folder that `Gates.argument` names; None where no gate holds anybody."""
    told = [Path(one.removeprefix(ARGUMENT)) for one in arguments if one.startswith(ARGUMENT)]
    return told[0] if told else None


def is_open(folder: Path | None, gate: Gate) -> bool:
    return folder is None or (folder / gate.value).exists()
