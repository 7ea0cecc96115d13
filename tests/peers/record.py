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

from pages.kit.in_code.texts import FOLDER, RECORDINGS
from tests.peers.binding import used
from tests.peers.every_text import python_of
from tests.peers.signatures import Wheel


def main(arguments: list[str]) -> int:
    """Record every library whose wheel is in a folder. Returns 0, 1 where names or all wheels are missing, or
    2 for bad arguments.
    """
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        sys.stderr.write(f"the folder of the wheels is needed, got: {' '.join(arguments) or 'nothing'}\n")
        return 2
    missing = recorded = 0
    for library, package in RECORDINGS.items():
        wheels = sorted(Path(arguments[0]).glob(f"{package}-*.whl"))
        if not wheels:
            sys.stdout.write(f"{library}: no wheel {package}-*.whl in this folder\n")
            continue
        recorded += 1
        missing += record(library, package, Wheel(wheels[-1]))
    return int(missing > 0 or not recorded)


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
    sys.exit(main(sys.argv[1:]))
