"""Tensors of a training run: x, w and dy of four layers at three steps, from `assets/tensors`.

``<model>_<step>_<layer>.safetensors`` holds bf16 crops of a layer's x, w and dy. `amax.json` has the amax of
each whole tensor at every step of a run with delayed scales. `python -m kernels.train --tensors` writes both,
with metadata.
"""

import json
import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fp8core.linear import LayerTensor

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "tensors"
T = TypeVar("T", bound=np.floating)
AMAX = "amax.json"
_LENGTH_BYTES = 8
_MOST_HEAD = 1 << 20
_METADATA = "__metadata__"
_NAME = re.compile(r"(?P<model>[a-z]+)_(?P<step>\d+)_(?P<layer>\d+\.\w+)\.safetensors")
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


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Type and shape of a file's tensor, and ends of its bytes."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True, kw_only=True)
class _Head:
    path: Path
    metadata: dict[str, str]
    places: dict[str, _Place]


def has_tensors() -> bool:
    return all(len(_paths(part)) == len(Step) for part in Part)


def has_amax() -> bool:
    return (FOLDER / AMAX).is_file() and all(part.value in _amax()["series"] for part in Part)


def note(part: Part, step: Step) -> tuple[str, str]:
    """Title and exact rule of a recorded layer; it says if the recording is missing."""
    title = f"Real: {part.value}, {step.key}"
    try:
        origin = metadata(part, step)
    except ValueError as missing:
        return title, str(missing)
    rule = (
        f"as the layer {part.value} of a small language model had them after step {origin['after_step']} of "
        f"its training ({origin['recipe']}, size {origin['model'].upper()}, seed {origin['seed']}, "
        f"{origin['gpu']}, {origin['date']}); rows begin at one that the seed chooses; "
        "where the crop ends, it repeats from another row"
    )
    return title, rule


def metadata(part: Part, step: Step) -> dict[str, str]:
    """Origin of a layer's tensors. Raises ValueError without any."""
    return dict(_head(part, step).metadata)


def tensor(part: Part, step: Step, of: LayerTensor) -> NDArray[np.float32]:
    """float32[rows, columns] of x, w or dy, exactly as recorded, read-only.

    Raises ValueError if the file or the tensor is missing.
    """
    return _values(part, step, of.value)


def amax_of(part: Part, of: LayerTensor) -> NDArray[np.float64]:
    """float64[steps]: amax of a layer's whole tensor at each step. Raises ValueError if missing."""
    series = _amax()["series"].get(part.value, {}).get(of.value)
    if series is None:
        raise ValueError(f"{AMAX} has no series of {of.value} of {part.value}")
    return np.asarray(series, np.float64)


def amax_metadata() -> dict[str, Any]:
    """Origin of the series of amax. Raises ValueError without any."""
    return {key: value for key, value in _amax().items() if key != "series"}


def corner(part: Part, step: Step, of: LayerTensor, shape: tuple[int, int], seed: int) -> NDArray[np.float32]:
    """float32[rows, columns] of a recorded tensor, repeated beyond its end.

    Channels stay in place. Rows begin at one that `seed` draws, seed 0 with the first. Raises ValueError as
    `tensor`.
    """
    return repeated(tensor(part, step, of), shape, seed)


def repeated(x: NDArray[T], shape: tuple[int, int], seed: int) -> NDArray[T]:
    """Cut or repeat x [rows, columns] to a shape; each repetition begins at another row.

    Tensors that repeat along the summed dim then pair other rows: a long sum adds no product twice.
    """
    (height, width), repetitions = (
        x.shape,
        tuple(-(-target // n) for target, n in zip(shape, x.shape, strict=True)),
    )
    first = np.random.default_rng(seed).integers(height, size=repetitions)
    if not seed:
        first[:1, :1] = 0
    # Twice below each other: a slice of it begins at any row and goes round.
    around, result = np.concatenate([x, x]), np.empty(shape, x.dtype)
    for (place, beside), begin in np.ndenumerate(first):
        block = result[place * height : (place + 1) * height, beside * width : (beside + 1) * width]
        block[...] = around[begin : begin + block.shape[0], : block.shape[1]]
    return result


def stretch(part: Part, step: Step, of: LayerTensor, count: int, seed: int) -> NDArray[np.float32]:
    """float32[count]: neighbors in memory, from the first again after the last.

    `seed` draws the first row, 0 the very first. Raises ValueError as `tensor`.
    """
    x = tensor(part, step, of)
    row = int(np.random.default_rng(seed).integers(x.shape[0])) if seed else 0
    return x.ravel()[(row * x.shape[1] + np.arange(count)) % x.size]


@lru_cache(maxsize=64)
def _values(part: Part, step: Step, key: str) -> NDArray[np.float32]:
    head = _head(part, step)
    place = head.places.get(key)
    if place is None:
        raise ValueError(f"{head.path.name} has no tensor {key}; {', '.join(head.places)} are there")
    if place.dtype != "BF16":
        raise ValueError(f"{key} of {head.path.name} is BF16, got {place.dtype}")
    with head.path.open("rb") as file:
        file.seek(place.start)
        data = file.read(place.stop - place.start)
    # bf16 is the upper half of fp32.
    x = (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").reshape(place.shape)
    x = x.astype(np.float32, copy=False)
    x.flags.writeable = False
    return x


@lru_cache(maxsize=16)
def _head(part: Part, step: Step) -> _Head:
    paths = _paths(part)
    if step.value >= len(paths):
        raise ValueError(f"There are no recorded tensors of {part.value}, {step.key}: {_HOW}.")
    path = paths[step.value]
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        if length > _MOST_HEAD:
            raise ValueError(f"the header of {path.name} has at most {_MOST_HEAD:,} bytes, got {length:,}")
        header = json.loads(file.read(length))
    metadata_here = header.pop(_METADATA, {})
    first = _LENGTH_BYTES + length
    places = {
        key: _Place(
            dtype=one["dtype"],
            shape=tuple(one["shape"]),
            start=first + one["data_offsets"][0],
            stop=first + one["data_offsets"][1],
        )
        for key, one in header.items()
    }
    return _Head(path=path, metadata=metadata_here, places=places)


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
