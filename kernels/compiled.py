"""The folder of compiled kernels that goes with the project: filled by `make warm`, copied, found again.

Triton files a kernel under a hash of its source, its arguments' types, the GPU's architecture, its own build
(one for each Triton and each Python) and ptxas's version. No path is in it. But each kernel's list of files
has whole paths, so a folder that lies elsewhere than it was made is mended once, before it is used.
"""

import json
import os
from collections.abc import MutableMapping
from pathlib import Path

from kernels.files import replace_file
from kernels.paths import TOP

COMPILED = TOP / ".compiled"
_VARIABLE = "TRITON_CACHE_DIR"
_FILES = "child_paths"


def use_compiled(environment: MutableMapping[str, str] = os.environ, folder: Path = COMPILED) -> None:
    """Keep compiled kernels in the folder, in this process and in those that it starts, if the folder is
    there and the environment names no other. Call it before anything compiles.
    """
    if folder.is_dir() and not environment.get(_VARIABLE):
        environment[_VARIABLE] = str(folder)
        mend(folder)


def mend(folder: Path) -> None:
    """Let each kernel's list name the files where they lie."""
    for path in folder.glob("*/__grp__*.json"):
        named = json.loads(path.read_bytes())[_FILES]
        lying = {name: str(path.with_name(name)) for name in named}
        if named != lying:
            replace_file(path, json.dumps({_FILES: lying}).encode())
