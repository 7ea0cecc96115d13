"""Measurements of the page "Outliers" that the pool makes: each function depends on its arguments only.

The pool's processes import this module: it imports no Streamlit and no Altair.
"""

import io
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fp8core.experiments.error_curves import (
    DRAWS,
    Counted,
    Draws,
    as_published,
    extents_up_to,
    over_crest,
    over_tiles,
)
from fp8core.experiments.layer_error import ResultError, layer_errors, truths
from fp8core.experiments.operand_error import OperandError, operand_error, tile_errors, tile_sums, tile_zeros
from fp8core.experiments.read_back import ReadBack, as_bf16, read_back
from fp8core.experiments.rounded_checkpoint import CheckpointError, checkpoint_errors
from fp8core.experiments.two_readers import Disagreement, disagreement, spec_readers, weight_readers
from fp8core.formats import FORMATS
from fp8core.inputs import RECORDED, InputKind, draw, draw_operand
from fp8core.linear import MATMULS, OPERANDS, LayerShape, LayerTensor, Matmul, Side
from fp8core.recipes import Operand, OperandSpec
from fp8core.recipes.keys import recipe_of_key
from fp8core.scales import SCALE_RULES
from fp8core.tiles import WHOLE, TileGrid, TileShape
from pages.sections.outliers.charts.colors import share_of_error, table
from pages.sections.outliers.source import Source, bands

CREST_SHAPE = (128, 512)
CHANNELS_SHAPE = (32, 512)
"""Rows that have a scale each, and elements in each."""
THIRD = 128
"""The size of the layer's axis that the tensor does not have."""
HOVER = (8, 16)
"""Rows and columns of regions on an error map that tell their figures."""
BARE_TILES = (*(TileShape(1, k) for k in (16, 32, 128)), *(TileShape(k, k) for k in (16, 32, 128)))
_MOST_PIXELS = 1024


@dataclass(frozen=True, kw_only=True)
class Region:
    """A part of an error map: where it lies, its error, and the share of elements that become zero."""

    rows: range
    columns: range
    error: float
    zeros: float


@dataclass(frozen=True, kw_only=True)
class TileMap:
    """One recipe's map: pictures of a tile's error and of its zeros as PNG, and what to tell on hover.

    `median` and `worst` are errors of tiles.
    """

    error_png: bytes
    zeros_png: bytes
    regions: tuple[Region, ...]
    tiles: int
    median: float
    worst: float


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One operand's error, its map and its price; None for an operand that stays bf16."""

    error: OperandError
    map: TileMap


def role_of(role: str) -> tuple[Matmul, Side]:
    """The matmul and the side that a value of the control ROLE names, such as ``fprop_a``."""
    name, side = role.split("_")
    return MATMULS[name], Side(side.upper())


def given_tensor(kind: str, role: str) -> LayerTensor:
    """The tensor that a kind of input gives for a role: a law has one for all, a recorded layer three."""
    matmul, side = role_of(role)
    return matmul.operand(side) if InputKind(kind) in RECORDED else LayerTensor.X


def operand_of_key(key: str, role: str) -> Operand | None:
    """The operand of a recipe in a role."""
    return recipe_of_key(key).operand(*role_of(role))


def measured(key: str, role: str, source: Source) -> Measured | None:
    """Quantize the tensor as this operand and measure all that the first sections show."""
    operand = operand_of_key(key, role)
    if operand is None:
        return None
    read = read_back(source.numbers(), operand, source.seed)
    return Measured(error=operand_error(read), map=_map(read))


def _map(read: ReadBack) -> TileMap:
    errors, zeros = tile_errors(read), tile_zeros(read)
    return TileMap(
        error_png=_png(share_of_error(errors), read.grid),
        zeros_png=_png(zeros, read.grid),
        regions=_regions(read),
        tiles=errors.size,
        median=float(np.median(errors)),
        worst=float(errors.max()),
    )


def _png(shares: NDArray[np.float64], grid: TileGrid) -> bytes:
    """A picture of shares from 0 to 1, one a tile: a pixel an element, or fewer."""
    every = max(1, -(-max(grid.shape) // _MOST_PIXELS))
    levels = grid.expand(np.round(255 * np.clip(shares, 0, 1)))[::every, ::every]
    picture = Image.fromarray(levels.astype(np.uint8))
    picture.putpalette(table().tobytes())
    held = io.BytesIO()
    picture.save(held, "PNG", compress_level=1)
    return held.getvalue()


def _regions(read: ReadBack) -> tuple[Region, ...]:
    extents = (max(1, -(-size // parts)) for size, parts in zip(read.given.shape, HOVER, strict=True))
    grid = TileGrid.over(read.given.shape, tuple(extents))
    dead = read.dead.astype(np.float64)
    error, energy, zeros = (tile_sums(part, grid).ravel() for part in (read.squared, read.energy, dead))
    rel_err = np.sqrt(np.divide(error, energy, out=np.zeros_like(error), where=energy > 0))
    return tuple(
        Region(
            rows=tile.rows,
            columns=tile.columns,
            error=float(rel_err[at]),
            zeros=float(zeros[at] / (len(tile.rows) * len(tile.columns))),
        )
        for at, tile in enumerate(grid.tiles())
    )


def crest(key: str, role: str, seed: int, counted: Counted) -> tuple[Draws, ...] | None:
    """SQNR over the crest factor; None for an operand that stays bf16."""
    operand = operand_of_key(key, role)
    return operand and over_crest(operand, CREST_SHAPE, _seeds(seed), counted)


def bare_crest(format_name: str, seed: int, counted: Counted) -> tuple[Draws, ...]:
    """SQNR over the crest factor of codes of one format, under an exact scale for each row."""
    rule = SCALE_RULES["fp32"]
    spec = OperandSpec(format=FORMATS[format_name], tile=TileShape(1, WHOLE), scale_rule=rule)
    return over_crest(Operand(spec=spec, k_is_rows=False), CHANNELS_SHAPE, _seeds(seed), counted)


@dataclass(frozen=True, kw_only=True)
class TileSizes:
    """SQNR over the extent of tiles along K, and the point of the recipe's own tile."""

    curve: tuple[Draws, ...]
    own: Draws


def tile_sizes(key: str, role: str, source: Source, counted: Counted) -> TileSizes | None:
    """SQNR over tile sizes; None for an operand that stays bf16."""
    operand = operand_of_key(key, role)
    if operand is None:
        return None
    drawn = bands(source, operand.k_is_rows)
    k = drawn[0].shape[0 if operand.k_is_rows else 1]
    return TileSizes(
        curve=over_tiles(operand, drawn, extents_up_to(k), counted),
        own=as_published(operand, drawn, counted),
    )


def layer(key: str, role: str, source: Source) -> dict[str, ResultError]:
    """The errors of y, dx and dw of a layer in which the tensor has its role."""
    return layer_errors(recipe_of_key(key), *_layer(role_of(role), source), source.seed)


@lru_cache(maxsize=1)
def _layer(
    role: tuple[Matmul, Side], source: Source
) -> tuple[dict[LayerTensor, NDArray[np.float32]], dict[str, NDArray[np.float64]]]:
    """x, w and dy, and the exact results, which the recipes share."""
    matmul, side = role
    given = matmul.operand(side)
    shape = layer_shape(given, source.numbers().shape)
    tensors = {given: source.numbers()}
    kind = InputKind.GAUSSIAN if source.matrix is not None else InputKind(source.kind)
    for place, tensor in enumerate(OPERANDS):
        if tensor is not given:
            seed = len(OPERANDS) * source.seed + place
            tensors[tensor] = as_bf16(draw_operand(kind, tensor, shape.of(tensor), seed, fan_in=shape.in_))
    return tensors, truths(tensors)


def layer_shape(given: LayerTensor, shape: tuple[int, int]) -> LayerShape:
    """The layer in which a tensor has this shape; its third axis has THIRD."""
    size = dict(zip(given.axes, shape, strict=True))
    tokens, in_, out = (size.get(axis, THIRD) for axis in (LayerTensor.X.axes + LayerTensor.W.axes[:1]))
    return LayerShape(tokens, in_, out)


def recipe_readers(key: str, source: Source) -> Disagreement:
    """How far Fprop and Dgrad disagree about the weight under a recipe."""
    return disagreement(source.weight(), weight_readers(recipe_of_key(key)), source.seed)


def bare_readers(format_name: str, scale_name: str, source: Source) -> tuple[Disagreement, ...]:
    """How far they disagree in bare tiles of one format, in the order of BARE_TILES."""
    return tuple(disagreement(source.weight(), pair) for pair in bare_operands(format_name, scale_name))


def bare_operands(format_name: str, scale_name: str) -> tuple[tuple[Operand, Operand], ...]:
    """A weight as Fprop and as Dgrad read it in bare tiles, in the order of BARE_TILES."""
    spec = OperandSpec(format=FORMATS[format_name], tile=BARE_TILES[0], scale_rule=SCALE_RULES[scale_name])
    return tuple(spec_readers(replace(spec, tile=tile)) for tile in BARE_TILES)


def checkpoint(source: Source) -> tuple[CheckpointError, ...]:
    """Every reading of the checkpoint; x is Gaussian and has THIRD tokens."""
    w = source.weight()
    x = as_bf16(draw(InputKind.GAUSSIAN, (THIRD, w.shape[1]), source.seed + 1))
    return checkpoint_errors(w, x)


def _seeds(seed: int) -> range:
    return range(DRAWS * seed, DRAWS * seed + DRAWS)
