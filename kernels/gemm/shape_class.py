"""Shapes that are served best by the same blocks: a matmul's M, N and K in a few coarse steps. Pure."""

import re
from dataclasses import dataclass

FEW = 256
"""M up to which a GEMM is one of few tokens: how fast B is read decides."""

MAX_ROWS = 512
_MIN_ROWS = 16
_SIDE = 128
_MIN_WAVES, _MAX_WAVES = -3, 4
_MIN_DEPTH, _MAX_DEPTH = 256, 16384
_DEPTH_STEP = 4
_NAME = re.compile(r"rows≤(\d+) waves≤2\^(-?\d+) depth≤(\d+)")


@dataclass(frozen=True, order=True)
class ShapeClass:
    """rows: M rounded up to 16, 32 … 256, or 512 for more; skinny matmuls want a block of their height.

    waves: log2 of the 128 × 128 blocks of D for each SM, rounded up, from -3 to 4: under 0, SMs stand idle
    unless K is split or blocks are smaller. depth: K rounded up to 256, 1024, 4096 or 16384 for all that is
    more: how much there is to split.
    """

    rows: int
    waves: int
    depth: int

    @classmethod
    def of(cls, mnk: tuple[int, int, int], sms: int) -> "ShapeClass":
        """The class of a matmul's (M, N, K) on a GPU of that many SMs."""
        m, n, k = mnk
        rows = _MIN_ROWS
        while rows < min(m, MAX_ROWS):
            rows *= 2
        blocks = -(-m // _SIDE) * -(-n // _SIDE)
        waves = _MIN_WAVES
        while waves < _MAX_WAVES and blocks > sms * 2.0**waves:
            waves += 1
        depth = _MIN_DEPTH
        while depth < min(k, _MAX_DEPTH):
            depth *= _DEPTH_STEP
        return cls(rows, waves, depth)

    @classmethod
    def parse(cls, name: str) -> "ShapeClass":
        """The inverse of str. Raises ValueError for another text."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise ValueError(f"a shape class reads like {cls(MAX_ROWS, 0, _MAX_DEPTH)}, got {name!r}")
        return cls(*(int(part) for part in match.groups()))

    def __str__(self) -> str:
        return f"rows≤{self.rows} waves≤2^{self.waves} depth≤{self.depth}"
