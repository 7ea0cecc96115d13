"""What refolding makes of tiles, as the tests name it."""

import pytest

from fp8core.refold import LINE, SQUARE

TILES = {"line": LINE, "square": SQUARE}
by_tile = pytest.mark.parametrize("tile", TILES.values(), ids=TILES)
