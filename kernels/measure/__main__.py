"""python -m kernels.measure WHAT: measure on this machine's GPU, in a terminal.

Progress goes to stderr, results to stdout. Exit codes: 0 all measured, 1 some refused or not recorded, 2 bad
arguments, 130 stopped by Ctrl-C. `python -m kernels.measure WHAT --help` has the options.
"""

import sys
from collections.abc import Sequence
from importlib import import_module

from kernels.measure import commands

MODULES = {
    "random": "kernels.measure.random_draw",
    "host": "kernels.measure.host_times",
    "tune": "kernels.measure.tune",
    "probe": "kernels.probe.command",
}
WHAT = (*commands.COMMANDS, *MODULES)


def main(arguments: Sequence[str] | None = None) -> int:
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or [""]
    if name in WHAT:
        return _run(name, rest)
    is_help = name in ("", "-h", "--help")
    text = __doc__ or "" if is_help else f"kernels.measure: WHAT is one of {', '.join(WHAT)}, got {name!r}\n"
    print(text + f"WHAT: {', '.join(WHAT)}\n" * is_help, end="", file=sys.stdout if is_help else sys.stderr)
    return 0 if name in ("-h", "--help") else 2


def _run(name: str, arguments: Sequence[str]) -> int:
    try:
        if name in MODULES:
            return import_module(MODULES[name]).main(arguments)
        return commands.main(name, arguments)
    except KeyboardInterrupt:
        return 130
    except (ValueError, MemoryError) as error:
        print(f"kernels.measure: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        end = "the file is as it was, and nothing more was measured"
        print(f"kernels.measure: what was measured last was not kept: {error}; {end}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
