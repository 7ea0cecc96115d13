"""python -m kernels.measure WHAT: measure on this machine's GPU, in a terminal.

Progress goes to stderr, results to stdout. Exit codes: 0 all measured, 1 some refused or not recorded, 2 bad
arguments, 130 stopped by Ctrl-C. `python -m kernels.measure WHAT --help` has the options.
"""

import sys
from collections.abc import Sequence
from importlib import import_module

WHAT = {
    "gemm": "kernels.measure.gemm",
    "quantizer": "kernels.measure.quantizer",
    "ceilings": "kernels.measure.ceilings",
    "layer": "kernels.layer.timeline.measure",
    "random": "kernels.measure.random_draw",
    "host": "kernels.measure.host_times",
    "tune": "kernels.measure.tune",
    "probe": "kernels.probe.command",
}
"""The module whose `main` runs a command."""


def main(arguments: Sequence[str] | None = None) -> int:
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or [""]
    if name in WHAT:
        return _run(name, rest)
    names = ", ".join(WHAT)
    if name in ("", "-h", "--help"):
        print(f"{__doc__}WHAT: {names}")
        return 0 if name else 2
    print(f"kernels.measure: WHAT is one of {names}, got {name!r}", file=sys.stderr)
    return 2


def _run(name: str, arguments: Sequence[str]) -> int:
    try:
        return import_module(WHAT[name]).main(arguments)
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
