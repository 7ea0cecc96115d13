"""Command line of the exercises."""

import argparse
import sys
from pathlib import Path

from fp8core.exercises.course import EXERCISES, Result, State, blank, results

FILE = "my_fp8.py"
_MARKS = {State.RIGHT: "✓", State.WRONG: "✗", State.TO_DO: "·"}


def start(path: Path) -> str:
    """Write a file to fill in, and return the next step. Raises ValueError if the file exists."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(blank(path.name))
    except FileExistsError:
        raise ValueError(f"{path} is there already; give another name, so that no work is lost") from None
    return f"{path} has {len(EXERCISES)} functions to fill in. Then: python -m fp8core.exercises check {path}"


def line(result: Result) -> str:
    message = f"\n    {result.message}" if result.message else ""
    return f"{_MARKS[result.state]} {result.exercise.name}: {result.state.value}{message}"


def check(path: Path, name: str | None) -> int:
    """Print the state of the exercises. Returns 0 if all are right, else 1."""
    states = []
    for result in results(path, name):
        sys.stdout.write(line(result) + "\n")
        sys.stdout.flush()
        states.append(result.state)
    right = states.count(State.RIGHT)
    sys.stdout.write(f"{right} of {len(states)} right.\n")
    return 0 if right == len(states) else 1


def main(arguments: list[str]) -> int:
    """Run a command, and return its exit status: 2 if it failed."""
    parser = argparse.ArgumentParser(
        prog="python -m fp8core.exercises",
        description="Ten small functions of FP8 training to fill in, and a check that says what is missing.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    started = commands.add_parser("start", help="write a file with the empty functions")
    checked = commands.add_parser("check", help="check what is filled in")
    for command in (started, checked):
        command.add_argument("file", nargs="?", default=FILE, type=Path, help=f"the file ({FILE})")
    checked.add_argument("name", nargs="?", help="one exercise only")
    options = parser.parse_args(arguments)
    try:
        if options.command == "start":
            sys.stdout.write(start(options.file) + "\n")
            return 0
        return check(options.file, options.name)
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"{error.filename or options.file}: {error.strerror}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
