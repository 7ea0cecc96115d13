"""Speed on shapes that nobody chose: GEMMs of random shapes, each beside torch's best.

Importing this needs neither torch nor a GPU.
"""

from kernels.bench.any_shape.draw import draw_shapes
from kernels.bench.any_shape.records import (
    any_shape_path,
    read_any_shape,
    record_any_shape,
)
from kernels.bench.any_shape.row import AnyShapeRow
from kernels.bench.any_shape.spread import Spread, percentile, spread

__all__ = [
    "AnyShapeRow",
    "Spread",
    "any_shape_path",
    "draw_shapes",
    "percentile",
    "read_any_shape",
    "record_any_shape",
    "spread",
]
