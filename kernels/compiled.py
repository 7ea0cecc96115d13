"""The folder of compiled kernels that travels with the project; `make warm` fills it.

Triton files a kernel under a hash of its source, its arguments' types, the GPU's architecture, its own build
and ptxas's version, without paths. But each kernel's list of files has whole paths: they are mended once,
before a copied folder is used.
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
    """Keep compiled kernels of this process and its children in the folder; call this before compiling.

    Without the folder, or with another in the environment, nothing changes.
    """
    if folder.is_dir() and not environment.get(_VARIABLE):
        environment[_VARIABLE] = str(folder)
        mend(folder)


def mend(folder: Path) -> None:
    """Write the files' own paths into each kernel's list."""
    for path in folder.glob("*/__grp__*.json"):
        listed = json.loads(path.read_bytes())[_FILES]
        present = {name: str(path.with_name(name)) for name in listed}
        if listed != present:
            replace_file(path, json.dumps({_FILES: present}).encode())
