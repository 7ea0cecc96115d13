"""What two hosts must have alike for one to run the jobs of the other, and the sentence where they differ.

A host tells its facts as labels of its Ray node: they can be read before any code of it runs.
"""

import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kernels.nvml import driver
from kernels.paths import TOP
from kernels.worker.launch import visible_gpus

PACKAGES = ("ray", "torch", "triton", "numpy", "ml_dtypes", "msgspec", "streamlit")
_MAY_LACK = {"streamlit"}
"""Packages that a host without the app need not have."""
_PREFIX = "fp8-explorer/"
_SOURCES, _COMMIT, _GPUS, _GPU = "sources", "commit", "gpus", "gpu-"
_READ = ("fp8core/**/*.py", "kernels/**/*.py", "assets/tuned/*.json")
"""The files that decide what a worker does."""
_LABEL = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_LABEL = 63
_DIGITS = 12


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A host's versions by name, Python's among them, the digest of its sources, their commit and its GPUs.

    Each is written as a label may be. `commit` is "" where there is no git, `gpus` where there is no GPU;
    `gpu_ids` tells apart GPUs of one model.
    """

    versions: Mapping[str, str]
    sources: str
    commit: str = ""
    gpus: str = ""
    gpu_ids: tuple[str, ...] = ()

    def labels(self) -> dict[str, str]:
        """The facts as labels of a Ray node."""
        told = {**self.versions, _SOURCES: self.sources, _COMMIT: self.commit, _GPUS: self.gpus}
        told |= {f"{_GPU}{number:02}": gpu for number, gpu in enumerate(self.gpu_ids)}
        return {_PREFIX + name: value for name, value in told.items() if value}


def from_labels(labels: Mapping[str, str]) -> Facts | None:
    """The facts among a node's labels; None where it tells none: it does not run this project."""
    told = {name.removeprefix(_PREFIX): value for name, value in labels.items() if name.startswith(_PREFIX)}
    if _SOURCES not in told:
        return None
    sources, commit, gpus = (told.pop(name, "") for name in (_SOURCES, _COMMIT, _GPUS))
    ids = tuple(told.pop(name) for name in sorted(told) if name.startswith(_GPU))
    return Facts(versions=told, sources=sources, commit=commit, gpus=gpus, gpu_ids=ids)


def facts_here(top: Path = TOP) -> Facts:
    """The facts of this host and of the sources in `top`."""
    found = driver()
    return Facts(
        versions={"python": _label(platform.python_version()), **_packages()},
        sources=_digest(top),
        commit=_commit(top),
        gpus=_label("-and-".join(sorted(set(found.names)))),
        gpu_ids=tuple(_label(gpu) for gpu in _uuids(visible_gpus(os.environ, lambda: found), found.uuids)),
    )


def difference(theirs: Facts, ours: Facts) -> str:
    """What differs, both sides named, as a part of a sentence on the other host; "" where nothing does."""
    names = list(dict.fromkeys(("python", *PACKAGES, *sorted(theirs.versions), *sorted(ours.versions))))
    pairs = [(name, theirs.versions.get(name, ""), ours.versions.get(name, "")) for name in names]
    told = [
        f"{name} {there or 'missing'} there, {here or 'missing'} here"
        for name, there, here in pairs
        if there != here and not (name in _MAY_LACK and "" in (there, here))
    ]
    if theirs.sources != ours.sources:
        told.append(f"sources {_of(theirs)} there, {_of(ours)} here")
    return "; ".join(told)


def _of(facts: Facts) -> str:
    return f"{facts.sources} (commit {facts.commit})" if facts.commit else facts.sources


def _uuids(visible: tuple[str, ...], uuids: tuple[str, ...]) -> Iterable[str]:
    """The visible GPUs' uuids; CUDA_VISIBLE_DEVICES may have given numbers."""
    for gpu in visible:
        is_number = gpu.isdecimal() and int(gpu) < len(uuids)
        yield uuids[int(gpu)] if is_number else gpu


def _packages() -> Mapping[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = _label(version(name))
        except PackageNotFoundError:
            continue
    return found


def _digest(top: Path) -> str:
    """The start of a SHA-256 of the sources, by path and content."""
    told = sha256()
    for path in sorted(path for pattern in _READ for path in top.glob(pattern)):
        content = path.read_bytes()
        told.update(f"{path.relative_to(top).as_posix()} {len(content)}\n".encode() + content)
    return told.hexdigest()[:_DIGITS]


def _commit(top: Path) -> str:
    try:
        asked = subprocess.run(
            ["git", "-C", str(top), "rev-parse", f"--short={_DIGITS}", "HEAD"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return _label(asked.stdout.strip())


def _label(text: str) -> str:
    """The text with what a label may not contain replaced: 2.11.0+cu130 becomes 2.11.0_cu130."""
    return _LABEL.sub("_", text)[:_LONGEST_LABEL].strip("_.-")
