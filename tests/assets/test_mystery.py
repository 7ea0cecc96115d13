"""Contract: rounded to black and white, nearest hides the picture's word, and noise shows it."""

import numpy as np
from PIL import Image

from fp8core.experiments.pictures import blur, levels, round_nearest, round_noisy, to_light
from fp8core.stochastic import MAX_RANDOM_BITS
from kernels.paths import TOP

SIZE = 224
BLACK_AND_WHITE = levels(2)


def shipped() -> np.ndarray:
    return np.asarray(Image.open(TOP / "assets/mystery.png"))


def in_word() -> np.ndarray:
    """Pixels well inside the upright stroke of the E."""
    rows, columns = (slice(round(a * SIZE), round(b * SIZE)) for a, b in ((0.2, 0.45), (0.40, 0.45)))
    mask = np.zeros((SIZE, SIZE), bool)
    mask[rows, columns] = True
    return mask


def beside_word() -> np.ndarray:
    """As much wall, left of the Y."""
    return np.roll(in_word(), -round(0.38 * SIZE), axis=1)


def test_to_nearest_the_word_is_as_black_as_the_wall_and_hardly_anything_is_white():
    white = round_nearest(to_light(shipped()), BLACK_AND_WHITE)
    assert white[in_word()].max() == white[beside_word()].max() == 0
    assert 0 < white.mean() < 0.01


def test_stochastic_rounding_shows_the_word_and_keeps_the_mean():
    original = to_light(shipped())
    random = np.random.default_rng(0).integers(0, 1 << MAX_RANDOM_BITS, original.shape)
    noisy = round_noisy(original, BLACK_AND_WHITE, random)
    assert set(np.unique(noisy)) == {0.0, 1.0}
    deviation = np.sqrt((original * (1 - original)).sum()) / original.size
    assert abs(noisy.mean() - original.mean()) < 4 * deviation
    seen = blur(noisy, 4)
    assert seen[in_word()].min() > seen[beside_word()].max() + 0.05
