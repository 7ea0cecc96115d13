"""Where the parts of a block lie among the tiles of the tensor."""

import triton
import triton.language as tl


@triton.jit
def part_places(
    block_mn,
    block_k,
    mn,
    k,
    mn_tiles,
    TILE_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    PART_MN: tl.constexpr,
    PART_K: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """(places, held, first), each [parts along mn, parts along K], of a block's parts; TILE 0: the whole dim.

    places: int32, the part's tile in a buffer [k_tiles, mn_tiles]. held: the part has elements of the tensor.
    first: it is the first part of its tile.
    """
    rows = block_mn * BLOCK_MN + tl.arange(0, BLOCK_MN // PART_MN) * PART_MN
    columns = block_k * BLOCK_K + tl.arange(0, BLOCK_K // PART_K) * PART_K
    tile_mn = rows // TILE_MN if TILE_MN else rows * 0
    tile_k = columns // TILE_K if TILE_K else columns * 0
    places = tile_k[None, :] * mn_tiles + tile_mn[:, None]
    held = (rows < mn)[:, None] & (columns < k)[None, :]
    first_mn = rows == tile_mn * TILE_MN if TILE_MN else rows == 0
    first_k = columns == tile_k * TILE_K if TILE_K else columns == 0
    return places, held, held & first_mn[:, None] & first_k[None, :]
