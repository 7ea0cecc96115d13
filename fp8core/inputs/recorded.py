"""Tensors of a training run: x, w and dy of four layers at three steps, from `assets/tensors`.

``<model>_<step>_<layer>.safetensors`` holds bf16 crops of a layer's x, w and dy. `amax.json` has the amax of
each whole tensor at every step of a run with delayed scales. `python -m kernels.train --tensors` writes both,
with metadata.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fp8core.arrays import Float32, Float64
from fp8core.linear import LayerTensor

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "tensors"
T = TypeVar("T", bound=np.floating)
AMAX = "amax.json"
_LENGTH_BYTES = 8
_MOST_HEAD = 1 << 20
_METADATA = "__metadata__"
_NAME = re.compile(r"(?P<model>[a-z]+)_(?P<step>\d+)_(?P<layer>\d+\.\w+)\.safetensors")
RUN = "({recipe}, size {model}, seed {seed}, {gpu}, {date})"
"""A training run in words, with fields of its metadata."""
_HOW = "`python -m kernels.train --tensors` records them"


class Part(Enum):
    """A linear layer of the model: number of its block, and name."""

    QKV = "0.qkv"
    GATE_UP = "2.gate_up"
    PROJ = "3.proj"
    DOWN = "5.down"

    @property
    def key(self) -> str:
        return self.name.lower()


class Step(Enum):
    """Place of a recorded step in the run."""

    EARLY = 0
    MIDDLE = 1
    LATE = 2

    @property
    def key(self) -> str:
        return self.name.lower()


LAYERS = tuple((part, step) for step in reversed(Step) for part in reversed(Part))
"""Every recorded layer, the latest step first."""


def layer_of_seed(seed: int) -> tuple[Part, Step]:
    return LAYERS[seed % len(LAYERS)]


def source_of_seed(seed: int) -> str:
    """The seed's recorded layer in words. Raises ValueError if missing."""
    part, step = layer_of_seed(seed)
    origin = metadata(part, step)
    return f"Seed {seed}: layer {part.value} after step {origin['after_step']}."


def has_tensors() -> bool:
    return all(len(_paths(part)) == len(Step) for part in Part)


def has_amax() -> bool:
    return (FOLDER / AMAX).is_file() and all(part.value in _amax()["series"] for part in Part)


@dataclass(frozen=True)
class Note:
    """Title of a kind of numbers, and their rule in words."""

    title: str
    rule: str


def note(title: str, rule: str, origin: Callable[[], dict[str, Any]]) -> Note:
    """Note of recorded numbers: a rule with fields of their origin, or that the recording is missing."""
    try:
        facts = origin()
    except ValueError as missing:
        return Note(title, str(missing))
    return Note(title, rule.format(**facts | {"model": facts["model"].upper()}))


def metadata(part: Part, step: Step) -> dict[str, str]:
    """Origin of a layer's tensors. Raises ValueError without any."""
    _, _, head = _head(part, step)
    return dict(head.get(_METADATA, {}))


@lru_cache(maxsize=64)
def tensor(part: Part, step: Step, of: LayerTensor) -> Float32:
    """float32[rows, columns] of x, w or dy, exactly as recorded, read-only.

    Raises ValueError if the file or the tensor is missing.
    """
    key, (path, first, places) = of.value, _head(part, step)
    if key not in places:
        there = ", ".join(name for name in places if name != _METADATA)
        raise ValueError(f"{path.name} has no tensor {key}; {there} are there")
    if places[key]["dtype"] != "BF16":
        raise ValueError(f"{key} of {path.name} is BF16, got {places[key]['dtype']}")
    start, stop = places[key]["data_offsets"]
    with path.open("rb") as file:
        file.seek(first + start)
        data = file.read(stop - start)
    # bf16 is the upper half of fp32.
    x = (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").reshape(places[key]["shape"])
    x = x.astype(np.float32, copy=False)
    x.flags.writeable = False
    return x


def amax_of(part: Part, of: LayerTensor) -> Float64:
    """float64[steps]: amax of a layer's whole tensor at each step. Raises ValueError if missing."""
    series = _amax()["series"].get(part.value, {}).get(of.value)
    if series is None:
        raise ValueError(f"{AMAX} has no series of {of.value} of {part.value}")
    return np.asarray(series, np.float64)


def amax_metadata() -> dict[str, Any]:
    """Origin of the series of amax. Raises ValueError without any."""
    return {key: value for key, value in _amax().items() if key != "series"}


def repeated(x: NDArray[T], shape: tuple[int, int], seed: int) -> NDArray[T]:
    """Cut or repeat x [rows, columns] to a shape; each repetition begins at another row.

    Columns stay in place. Rows begin at one that `seed` draws, seed 0 with the first.
    Tensors that repeat along the summed dim then pair other rows: a long sum adds no product twice.
    """
    height, width = x.shape
    repetitions = tuple(-(-target // n) for target, n in zip(shape, x.shape, strict=True))
    first = np.random.default_rng(seed).integers(height, size=repetitions)
    if not seed:
        first[:1, :1] = 0
    # Twice below each other: a slice of it begins at any row and goes round.
    around, result = np.concatenate([x, x]), np.empty(shape, x.dtype)
    for (place, beside), begin in np.ndenumerate(first):
        block = result[place * height : (place + 1) * height, beside * width : (beside + 1) * width]
        block[...] = around[begin : begin + block.shape[0], : block.shape[1]]
    return result


def stretch(part: Part, step: Step, of: LayerTensor, count: int, seed: int) -> Float32:
    """float32[count]: neighbors in memory, from the first again after the last.

    `seed` draws the first row, 0 the very first. Raises ValueError as `tensor`.
    """
    x = tensor(part, step, of)
    row = int(np.random.default_rng(seed).integers(x.shape[0])) if seed else 0
    return x.ravel()[(row * x.shape[1] + np.arange(count)) % x.size]


@lru_cache(maxsize=16)
def _head(part: Part, step: Step) -> tuple[Path, int, dict[str, Any]]:
    """File of a layer, its first byte of data, and its head: type, shape and ends of each tensor."""
    paths = _paths(part)
    if step.value >= len(paths):
        raise ValueError(f"There are no recorded tensors of {part.value}, {step.key}: {_HOW}.")
    path = paths[step.value]
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        if length > _MOST_HEAD:
            raise ValueError(f"the header of {path.name} has at most {_MOST_HEAD:,} bytes, got {length:,}")
        return path, _LENGTH_BYTES + length, json.loads(file.read(length))


def _paths(part: Part) -> list[Path]:
    names = [(match, path) for path in FOLDER.glob("*.safetensors") if (match := _NAME.fullmatch(path.name))]
    models = {match["model"] for match, _ in names}
    mine = [
        (int(match["step"]), path)
        for match, path in names
        if match["layer"] == part.value and match["model"] == min(models)
    ]
    return [path for _, path in sorted(mine)]


@lru_cache(maxsize=1)
def _amax() -> dict[str, Any]:
    path = FOLDER / AMAX
    if not path.is_file():
        raise ValueError(f"There is no recorded series of amax: {_HOW}.")
    return json.loads(path.read_text(encoding="utf-8"))
