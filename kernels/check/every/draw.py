"""Random numbers for a case of a check: the same for a seed and a name, others for other ones."""

from zlib import crc32

import numpy as np

from kernels.device import Device, DeviceKind


def generator(seed: int, name: str) -> np.random.Generator:
    """The generator of one case."""
    return np.random.default_rng([seed, crc32(name.encode())])


def odd(rng: np.random.Generator, most: int) -> int:
    """An odd number from 1 to `most`."""
    return 2 * int(rng.integers(0, (most + 1) // 2)) + 1


def multiple(rng: np.random.Generator, step: int, most: int) -> int:
    """A multiple of `step`, at most `most` or the step itself."""
    return step * int(rng.integers(1, max(2, most // step + 1)))


def fit(most: int, device: Device) -> int:
    """A limit of a side on a GPU; a small one in the interpreter, which takes a second for a few blocks."""
    return most if device.kind is DeviceKind.GPU else min(most, 41)
