"""The cluster's token: whoever knows it may run programs on every host of the cluster. It is made once.

It stands in a file that its owner alone may read, or in Ray's own variable RAY_AUTH_TOKEN; never on a command
line, which every user of a host can see.
"""

import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from kernels.paths import TOP

TOKEN_FILE = TOP / ".cluster-token"
_VARIABLE = "RAY_AUTH_TOKEN"
_OTHERS = 0o077


def token_environment(
    environment: Mapping[str, str], make: Callable[[], str | None], file: Path = TOKEN_FILE
) -> dict[str, str]:
    """The variables by which Ray finds the token. Where there is none yet, `make` gives one, which is kept.

    Raises ValueError where there is no token, or where others than its owner can read it.
    """
    mode = {"RAY_AUTH_MODE": "token"}
    if environment.get(_VARIABLE):
        return mode
    if not file.exists():
        token = (make() or "").strip()
        if not token:
            raise ValueError(
                f"This host has no token of the cluster: copy the file {file.name} of the first host into "
                f"this folder, or put its text into the environment variable {_VARIABLE}."
            )
        _keep(token, file)
    if file.stat().st_mode & _OTHERS:
        raise ValueError(f"Others can read {file.name}: chmod 600 {file.name}, or remove it for a new token.")
    return {**mode, "RAY_AUTH_TOKEN_PATH": str(file)}


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_hex()


def _keep(token: str, file: Path) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(token)
