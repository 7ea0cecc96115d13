"""Arrays by the type of their numbers, as docstrings write it: float64[rows, columns]."""

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]
Float32 = NDArray[np.float32]
Floats = NDArray[np.floating]
Integers = NDArray[np.integer]
UInt8 = NDArray[np.uint8]
Bools = NDArray[np.bool_]
Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Intp = NDArray[np.intp]
