"""How far a result is from the truth."""

import math

import numpy as np
from numpy.typing import ArrayLike


def rel_err(result: ArrayLike, truth: ArrayLike) -> float:
    """‖result - truth‖ / ‖truth‖ (Frobenius), in float64; 0 for equal arrays, also where both are zero."""
    result, truth = np.asarray(result, np.float64), np.asarray(truth, np.float64)
    if result.shape != truth.shape:
        raise ValueError(f"rel_err compares arrays of one shape, got {result.shape} and {truth.shape}")
    error, size = np.linalg.norm(result - truth), np.linalg.norm(truth)
    return 0.0 if error == 0 else float(np.divide(error, size)) if size else math.inf


def sqnr_db(rel_err: float) -> float:
    """Signal to quantization noise ratio of a relative error, in dB: -20 log10(rel_err); inf for 0."""
    return math.inf if rel_err == 0 else -20.0 * math.log10(rel_err)
