"""The captured outputs of tensor cores that come with the app."""

from kernels.paths import VECTORS

FILES = sorted(VECTORS.glob("*.npz"))
