"""Contract: the fast transform is the matrix, orthogonal to the last bit on integers; rotations cancel."""

import math

import numpy as np
import pytest

from fp8core.reflections import draw_reflections
from fp8core.rotations import Rotation, RotationKind, hadamard


def sylvester(size: int) -> np.ndarray:
    """The ±1 matrix by its definition: the parity of the bits that row and column share."""
    rows, columns = np.indices((size, size))
    return np.where(np.vectorize(lambda b: b.bit_count() & 1)(rows & columns), -1.0, 1.0)


@pytest.mark.parametrize("size", [1, 2, 4, 16, 64, 128])
def test_the_fast_transform_is_the_matrix_bit_for_bit_on_integers(size) -> None:
    x = np.random.default_rng(0).integers(-100, 100, (5, 3 * size)).astype(np.float64)
    by_matrix = x.reshape(5, 3, size) @ sylvester(size) * (1 / math.sqrt(size))
    np.testing.assert_array_equal(hadamard(x, size), by_matrix.reshape(5, 3 * size))


def test_a_random_rotation_is_orthogonal_and_its_entries_follow_the_beta_density() -> None:
    size = 64
    q = draw_reflections(size, 0).apply(np.eye(size))
    np.testing.assert_allclose(q @ q.T, np.eye(size), atol=1e-12)
    entries = np.concatenate([draw_reflections(size, seed).apply(np.eye(size)).ravel() for seed in range(5)])
    edges = np.linspace(-0.5, 0.5, 21)
    observed = np.histogram(entries, edges)[0] / entries.size
    fine = np.linspace(-0.5, 0.5, 20 * 200 + 1)
    t = (fine[1:] + fine[:-1]) / 2
    beta = math.gamma(0.5) * math.gamma((size - 1) / 2) / math.gamma(size / 2)
    density = (1 - t**2) ** ((size - 3) / 2) / beta
    expected = density.reshape(20, 200).mean(axis=1) * 0.05
    # A bin's share of n entries has a standard deviation of at most sqrt(p / n); five of them.
    assert (np.abs(observed - expected) <= 5 * np.sqrt(expected / entries.size) + 1e-9).all()


@pytest.mark.parametrize("size", [1, 2, 64, 65, 200])
def test_a_random_rotation_is_its_matrix_without_making_it(size) -> None:
    rotation, q = Rotation(RotationKind.ORTHOGONAL, size, 7), draw_reflections(size, 7).apply(np.eye(size))
    x = np.random.default_rng(0).standard_normal((3, 2, size))
    np.testing.assert_allclose(q @ q.T, np.eye(size), atol=1e-12)
    np.testing.assert_allclose(rotation.apply(x), x @ q, atol=1e-12)
    np.testing.assert_allclose(rotation.undo(x), x @ q.T, atol=1e-12)


def test_every_rotation_is_equally_likely() -> None:
    rotations = np.stack([draw_reflections(3, seed).apply(np.eye(3)) for seed in range(1000)])
    traces, turns = np.trace(rotations, axis1=1, axis2=2), np.linalg.det(rotations)
    # Over all rotations and reflections: E tr = 0, E tr² = 1, E tr⁴ = 3; half of them are reflections.
    for moment, expected, spread in ((1, 0, 1), (2, 1, 2**0.5), (4, 3, 9)):
        assert (traces**moment).mean() == pytest.approx(expected, abs=5 * spread / 1000**0.5)
    assert (turns > 0).mean() == pytest.approx(0.5, abs=5 * 0.5 / 1000**0.5)
    # No entry of the matrix is special.
    np.testing.assert_allclose((rotations**2).mean(axis=0), 1 / 3, atol=5 * 0.3 / 1000**0.5)
    np.testing.assert_allclose(rotations.mean(axis=0), 0, atol=5 * 3**-0.5 / 1000**0.5)
