"""Numbers of the page "Outliers", and their errors.

The pool's processes import this module: no Streamlit, no Altair.
"""

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fp8core.experiments.error_curves import DRAWS, Counted, Draws, over_crest
from fp8core.experiments.layer_error import ResultError, layer_errors, truths
from fp8core.experiments.operand_error import OperandError, operand_error
from fp8core.experiments.read_back import as_bf16, read_back
from fp8core.experiments.rounded_checkpoint import CheckpointError, checkpoint_errors
from fp8core.experiments.two_readers import Disagreement, disagreement, spec_readers, weight_readers
from fp8core.formats import FORMATS
from fp8core.inputs import OUTLIER_EVERY, OUTLIER_FACTOR, RECORDED, InputKind, draw, draw_operand
from fp8core.linear import MATMULS, OPERANDS, LayerShape, LayerTensor, Matmul, Side
from fp8core.recipes import Operand, OperandSpec
from fp8core.recipes.keys import recipe_of_key
from fp8core.scales import SCALE_RULES
from fp8core.tiles import WHOLE, TileShape

CREST_SHAPE = (128, 512)
CHANNELS_SHAPE = (32, 512)  # rows with a scale each, elements of a row
THIRD = 128  # the size of the layer's axis that the tensor does not have
CORNER = (48, 160)  # rows and columns of an error map, around the largest element
RUN = 16  # numbers of a tile that stand code by code below the maps
FACTOR = 4.0  # the rms of an outlier line is more than so many times the median line's
# Levels of an error map: of numbers that became zero, and the largest of others, with its relative error.
ZERO, SHADES, _DARKEST = 255, 254, 0.5
BARE_TILES = (*(TileShape(1, k) for k in (16, 32, 128)), *(TileShape(k, k) for k in (16, 32, 128)))


@dataclass(frozen=True)
class Matrix:
    """An uploaded matrix: float32[rows, columns] as bytes. Equal digests mean equal matrices."""

    digest: str
    shape: tuple[int, int] = field(compare=False)
    data: bytes = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class Source:
    """Numbers of a kind with a seed, or an uploaded matrix. Outlier channels are `every` channels apart."""

    kind: str
    shape: tuple[int, int]
    seed: int
    tensor: LayerTensor = LayerTensor.X
    matrix: Matrix | None = None
    factor: float = OUTLIER_FACTOR
    every: int = OUTLIER_EVERY

    @property
    def nbytes(self) -> int:
        """Bytes of an uploaded matrix, for the pool's bound."""
        return 0 if self.matrix is None else len(self.matrix.data)

    @property
    def outlier_channels(self) -> range:
        has_channels = self.kind == InputKind.OUTLIER_CHANNELS.value
        return range(self.every // 2, self.shape[1] if has_channels else 0, self.every)

    def numbers(self) -> NDArray[np.float32]:
        """float32[rows, columns], in bf16. Raises ValueError if all of them are zero."""
        return _numbers(self)

    def weight(self) -> NDArray[np.float32]:
        """float32[out, in], in bf16: the matrix, or the weight of this kind of input."""
        return self.numbers() if self.matrix is not None else _weight(self)


@lru_cache(maxsize=1)
def _weight(source: Source) -> NDArray[np.float32]:
    kind, shape = InputKind(source.kind), source.shape
    return as_bf16(draw_operand(kind, LayerTensor.W, shape, source.seed, fan_in=shape[1]))


@lru_cache(maxsize=4)
def _numbers(source: Source) -> NDArray[np.float32]:
    if source.matrix is not None:
        x = np.frombuffer(source.matrix.data, np.float32).reshape(source.matrix.shape)
    else:
        more = {"tensor": source.tensor, "outlier_factor": source.factor, "outlier_every": source.every}
        x = draw(InputKind(source.kind), source.shape, source.seed, **more)
    x = as_bf16(x)
    if not x.any():
        raise ValueError("All of these numbers are zero in bf16: there is nothing to lose.")
    return x


@dataclass(frozen=True, kw_only=True)
class ErrorMap:
    """One operand's error, and a corner of it: `levels` uint8[rows, columns].

    `zeros` is the share of zeros outside the outlier channels, `largest` float64[columns] the largest |x| of
    a channel in the corner.
    """

    error: OperandError
    zeros: float
    has_outliers: bool
    rows: range
    columns: range
    levels: NDArray[np.uint8]
    largest: NDArray[np.float64]
    outliers: NDArray[np.bool_]
    tile: tuple[int, int]


def role_of(role: str) -> tuple[Matmul, Side]:
    """The matmul and the side of a value of ROLE, such as ``fprop_a``."""
    name, side = role.split("_")
    return MATMULS[name], Side(side.upper())


def tensor_of(role: str) -> LayerTensor:
    matmul, side = role_of(role)
    return matmul.operand(side)


def operand_of_key(key: str, role: str) -> Operand | None:
    return recipe_of_key(key).operand(*role_of(role))


def source_of(
    kind: str, role: str, shape: tuple[int, int], seed: int, factor: float, every: int = OUTLIER_EVERY
) -> Source:
    """Numbers of a kind for a role: a recorded layer has a tensor for each, a law one for all."""
    tensor = tensor_of(role) if InputKind(kind) in RECORDED else LayerTensor.X
    return Source(kind=kind, shape=shape, seed=seed, tensor=tensor, factor=factor, every=every)


def error_map(key: str, role: str, source: Source) -> ErrorMap | None:
    operand = operand_of_key(key, role)
    if operand is None:
        return None
    x = source.numbers()
    result = read_back(x, operand, source.seed)
    error = operand_error(result)
    outliers = error.channels.outliers(FACTOR)
    others = result.dead[:, ~outliers] if not outliers.all() else result.dead
    rows, columns = map(_around, _largest(x, source.outlier_channels), x.shape, CORNER)
    corner = np.s_[rows.start : rows.stop, columns.start : columns.stop]
    rel_err = np.abs(result.error[corner]) / np.maximum(np.abs(result.given[corner]), 1e-30)
    levels = np.round(SHADES * np.sqrt(np.minimum(rel_err / _DARKEST, 1))).astype(np.uint8)
    levels[result.dead[corner]] = ZERO
    return ErrorMap(
        error=error,
        zeros=float(others.mean()),
        has_outliers=bool(outliers.any()),
        rows=rows,
        columns=columns,
        levels=levels,
        largest=np.abs(x[corner]).max(axis=0).astype(np.float64),
        outliers=outliers[columns.start : columns.stop],
        tile=result.grid.extents,
    )


def _largest(x: NDArray[np.float32], channels: range) -> tuple[int, int]:
    """The place of the largest number in these channels, or in all: the same for every factor."""
    columns = np.array(channels or range(x.shape[1]))
    row, column = np.unravel_index(np.argmax(np.abs(x[:, columns])), (len(x), len(columns)))
    return int(row), int(columns[column])


def _around(at: int, size: int, most: int) -> range:
    """A part of a line with the element `at` in its first third."""
    length = min(size, most)
    start = int(min(max(at - length // 3, 0), size - length))
    return range(start, start + length)


@dataclass(frozen=True, kw_only=True)
class Codes:
    """Numbers of one tile in a row or a column, with their codes and the codes' values."""

    rows: range
    columns: range
    scale: float
    x: list[float]
    codes: list[int]
    values: list[float]

    @property
    def numbers(self) -> range:
        return self.columns if len(self.columns) > 1 else self.rows


def codes_of(key: str, role: str, source: Source, row: int, column: int) -> Codes:
    """At most RUN numbers along a tile's longer side, around the one at this place."""
    operand = operand_of_key(key, role)
    assert operand is not None, f"{key} leaves {role} in bf16"
    result = read_back(source.numbers(), operand, source.seed)
    tall, wide = result.grid.extents
    place, extents, axis = [row, column], (tall, wide), int(wide >= tall)
    first = place[axis] // extents[axis] * extents[axis]
    start = first + (place[axis] - first) // RUN * RUN
    stop = min(start + RUN, first + extents[axis], result.given.shape[axis])
    parts = [range(at, at + 1) for at in place]
    parts[axis] = range(start, stop)
    here = np.s_[parts[0].start : parts[0].stop, parts[1].start : parts[1].stop]
    scale, x = float(result.grid.expand(result.scale)[row, column]), result.made_of[here].ravel()
    # A negative number that becomes 0 has the code of -0.
    values = np.copysign(result.values[here].ravel(), x)
    return Codes(
        rows=parts[0],
        columns=parts[1],
        scale=scale,
        x=x.tolist(),
        codes=operand.spec.format.encode(values / (scale or 1.0)).tolist(),
        values=values.tolist(),
    )


def crest(key: str, role: str, seed: int, counted: Counted) -> tuple[Draws, ...] | None:
    operand = operand_of_key(key, role)
    return operand and over_crest(operand, CREST_SHAPE, _seeds(seed), counted)


def bare_crest(format_name: str, seed: int, counted: Counted) -> tuple[Draws, ...]:
    rule = SCALE_RULES["fp32"]
    spec = OperandSpec(format=FORMATS[format_name], tile=TileShape(1, WHOLE), scale_rule=rule)
    return over_crest(Operand(spec=spec, k_is_rows=False), CHANNELS_SHAPE, _seeds(seed), counted)


def layer(key: str, role: str, source: Source) -> dict[str, ResultError]:
    return layer_errors(recipe_of_key(key), *_layer(role_of(role), source), source.seed)


@lru_cache(maxsize=1)
def _layer(
    role: tuple[Matmul, Side], source: Source
) -> tuple[dict[LayerTensor, NDArray[np.float32]], dict[str, NDArray[np.float64]]]:
    matmul, side = role
    subject = matmul.operand(side)
    shape = layer_shape(subject, source.numbers().shape)
    tensors = {subject: source.numbers()}
    kind = InputKind.GAUSSIAN if source.matrix is not None else InputKind(source.kind)
    for number, tensor in enumerate(OPERANDS):
        if tensor is not subject:
            seed = len(OPERANDS) * source.seed + number
            tensors[tensor] = as_bf16(draw_operand(kind, tensor, shape.of(tensor), seed, fan_in=shape.in_))
    return tensors, truths(tensors)


def layer_shape(subject: LayerTensor, shape: tuple[int, int]) -> LayerShape:
    """The layer of a tensor of this shape; its third axis has THIRD."""
    size = dict(zip(subject.axes, shape, strict=True))
    tokens, in_, out = (size.get(axis, THIRD) for axis in (LayerTensor.X.axes + LayerTensor.W.axes[:1]))
    return LayerShape(tokens, in_, out)


def recipe_readers(key: str, source: Source) -> Disagreement:
    return disagreement(source.weight(), weight_readers(recipe_of_key(key)), source.seed)


def bare_readers(format_name: str, scale_name: str, source: Source) -> tuple[Disagreement, ...]:
    return tuple(disagreement(source.weight(), pair) for pair in bare_operands(format_name, scale_name))


def bare_operands(format_name: str, scale_name: str) -> tuple[tuple[Operand, Operand], ...]:
    """A weight's operands in Fprop and Dgrad, in the order of BARE_TILES."""
    spec = OperandSpec(format=FORMATS[format_name], tile=BARE_TILES[0], scale_rule=SCALE_RULES[scale_name])
    return tuple(spec_readers(replace(spec, tile=tile)) for tile in BARE_TILES)


def checkpoint(source: Source) -> tuple[CheckpointError, ...]:
    w = source.weight()
    x = as_bf16(draw(InputKind.GAUSSIAN, (THIRD, w.shape[1]), source.seed + 1))
    return checkpoint_errors(w, x)


def _seeds(seed: int) -> range:
    return range(DRAWS * seed, DRAWS * seed + DRAWS)
