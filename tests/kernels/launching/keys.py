"""Hash all kernels as launches do, in a random order, and write as JSON what would make keys differ.

early: functions whose callees had no key yet. twice: names that stand for several constants in one key.
"""

import json
import random
import sys
from importlib import import_module
from pkgutil import walk_packages

from triton.language.core import constexpr
from triton.runtime.jit import JITFunction

import kernels.gemm
import kernels.quantize
from kernels.launching.cache_keys import callees, hash_callees_first


def main() -> None:
    rooms = [
        room.name
        for package in (kernels.gemm, kernels.quantize)
        for room in walk_packages(package.__path__, f"{package.__name__}.")
    ]
    every = [each for room in rooms for each in vars(import_module(room)).values()]
    functions = [each for each in every if isinstance(each, JITFunction)]
    early, cache_key = [], JITFunction.cache_key

    def key(function: JITFunction) -> str:
        if function.hash is None and any(callee.hash is None for callee in callees(function)):
            early.append(function.fn.__name__)
        return cache_key.fget(function)

    JITFunction.cache_key = property(key)
    random.Random(int(sys.argv[1])).shuffle(functions)
    for each in functions:
        hash_callees_first(each)
    twice = set()
    for each in functions:
        values: dict[str, set[str]] = {}
        for (name, _), (value, _) in each.used_global_vals.items():
            if isinstance(value, constexpr):
                values.setdefault(name, set()).add(repr(value.value))
        twice |= {name for name, several in values.items() if len(several) > 1}
    facts = {"functions": len(functions), "early": early, "twice": sorted(twice)}
    sys.stdout.write(json.dumps(facts))


if __name__ == "__main__":
    main()
