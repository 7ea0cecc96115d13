"""Record the signatures of the names that the texts to copy use, from the wheels in a folder.

    pip download --no-deps --dest FOLDER torchao transformer_engine nvdlfw-inspect
    python -m tests.peers.record FOLDER

It writes `assets/peers/<library>.json`: the version, the day, and what each name takes. A name that a release
does not have is left out, and told: the tests then name the text that uses it.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pages.kit.in_code.peers import FOLDER, RECORDED
from tests.peers.binding import used
from tests.peers.every_text import python_of
from tests.peers.signatures import Wheel


def main(folder: str) -> int:
    """Record every library whose wheel is in the folder. Returns the number of names that are missing."""
    missing = 0
    for library, package in RECORDED.items():
        wheels = sorted(Path(folder).glob(f"{package}-*.whl"))
        if not wheels:
            sys.stdout.write(f"{library}: no wheel {package}-*.whl in this folder\n")
            continue
        missing += record(library, package, Wheel(wheels[-1]))
    return missing


def record(library: str, package: str, wheel: Wheel) -> int:
    """Write one library's file. Returns the number of names that the wheel does not have."""
    wanted = {dotted for text in python_of(library).values() for dotted, _ in used(text, package)}
    names, missing = {}, []
    for dotted in sorted(wanted):
        entry = wheel.entry(dotted)
        home, _, member = dotted.rpartition(".")
        if entry is not None:
            names[dotted] = entry
        elif member not in (wheel.entry(home) or {}).get("members", {}):
            missing.append(dotted)
    data = {
        "library": library,
        "version": wheel.version,
        "date": datetime.now(UTC).date().isoformat(),
        "names": names,
    }
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{package}.json").write_text(_lines(data), encoding="utf-8")
    sys.stdout.write(f"{library} {wheel.version}: {len(names)} names\n")
    for dotted in missing:
        sys.stdout.write(f"  missing: {dotted}\n")
    return len(missing)


def _lines(data: dict[str, Any]) -> str:
    """JSON with a line for each name, so that a change of one name changes one line."""
    head = {key: value for key, value in data.items() if key != "names"}
    names = ",\n".join(f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in data["names"].items())
    return f'{json.dumps(head)[:-1]},\n "names": {{\n{names}\n }}}}\n'


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1]) else 0)
