"""How a GEMM is cut into programs: the part of a plan that decides speed and not meaning. Pure; no torch."""

from dataclasses import dataclass, replace
from enum import Enum
from math import ceil

MAX_SPLIT = 32
DECODED_WORDS = "decoded in the K loop"
"""What blocks' title says of operands that no pass dequantizes first."""
SPLIT_WORDS = "K split in"
"""The same of blocks that several programs share."""
_LEAST_STAGES = 2
_RESERVED_BYTES = 2 << 10
_WARPS = (4, 8)
_VALUE_BYTES = 2
_CODE_BYTES = 1 + 4 / 32
"""A code, and its part of an fp32 scale of 32."""


class Schedule(Enum):
    """Which body carries a plan out."""

    SIMPLE = "simple"
    """`tl` code that reads top to bottom; any GPU, and the interpreter."""
    SPECIALIZED = "warp-specialized"
    """Gluon: one warp loads, the others multiply; sm_90 only."""


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """What one program computes, block_m × block_n of D in steps of block_k, and with what.

    group: so many block rows go together, so that L2 holds their B; in the warp-specialized schedule block
    columns where a block is higher than wide, so that neighbors load the same block of the operand of which
    they load more. persistent: one program an SM takes many blocks. split_k: that many programs share a
    block, each with its own run of K. tma: operands come as descriptors.
    transposed: the kernel computes Dᵀ = B · Aᵀ: the tensor core's blocks are 64 rows high or more, and those
    of B waste none of it where M is less. decoded: of operands with scales along K, "a", "b" or "ab" come as
    codes and are decoded in the K loop; the others by a pass before. The warp-specialized schedule decodes A
    or B, and of B computes Dᵀ whatever `transposed` says.
    Raises ValueError for what no kernel can be compiled with.
    """

    schedule: Schedule = Schedule.SIMPLE
    block_m: int
    block_n: int
    block_k: int
    group: int = 8
    warps: int
    stages: int
    persistent: bool = False
    split_k: int = 1
    tma: bool = True
    transposed: bool = False
    decoded: str = ""

    def __post_init__(self) -> None:
        for name in ("block_m", "block_n", "block_k"):
            size = getattr(self, name)
            if size < 1 or (size & (size - 1) and self.schedule is Schedule.SIMPLE):
                raise ValueError(f"{name} is a power of two, got {size}")
        if self.warps not in _WARPS or self.stages < 1 or self.group < 1:
            raise ValueError(
                f"a block takes 4 or 8 warps, 1 stage or more and a group of 1 or more, got "
                f"{self.warps} warps, {self.stages} stages, a group of {self.group}"
            )
        if not 1 <= self.split_k <= MAX_SPLIT or (self.split_k > 1 and self.persistent):
            raise ValueError(
                f"K is split into 1 to {MAX_SPLIT} runs, and not by persistent programs, got {self.split_k}"
                f"{' by persistent programs' if self.persistent else ''}"
            )
        if self.decoded not in ("", "a", "b", "ab"):
            raise ValueError(f'decoded names operands: "", "a", "b" or "ab", got {self.decoded!r}')
        simple = self.schedule is Schedule.SIMPLE
        if simple and self.decoded == ("b" if self.transposed else "a"):
            raise ValueError(
                "the left factor is not decoded alone: its values lie in registers, and Triton lets the next "
                f"step overwrite them while the tensor core still reads; got {self.decoded!r}"
                f"{', transposed' if self.transposed else ''}"
            )
        if not simple and (self.transposed or len(self.decoded) > 1):
            raise ValueError(
                f"the {self.schedule.value} schedule is not transposed and decodes A or B alone, got "
                f"{self.decoded!r}{', transposed' if self.transposed else ''}"
            )

    @property
    def title(self) -> str:
        """The blocks in words, for a result's row."""
        persistent = ", persistent" if self.persistent else ""
        pointers = "" if self.tma else ", no TMA"
        split = "" if self.split_k == 1 else f", {SPLIT_WORDS} {self.split_k}"
        transposed = ", as Dᵀ" if self.transposed else ""
        decoded = f", {' and '.join(self.decoded.upper())} {DECODED_WORDS}" if self.decoded else ""
        return (
            f"{self.schedule.value} schedule, block {self.block_m}×{self.block_n}×{self.block_k}, "
            f"{self.warps} warps, {self.stages} stages{persistent}{split}{pointers}"
            f"{transposed}{decoded}"
        )

    def count(self, m: int, n: int) -> int:
        """Blocks of D."""
        return -(-m // self.block_m) * -(-n // self.block_n)

    def runs(self, k: int) -> tuple[int, int]:
        """(runs of K, steps of block_k in each but the last, which may be shorter); none is empty."""
        steps = max(1, -(-k // self.block_k))
        length = -(-steps // min(self.split_k, steps))
        return -(-steps // length), length

    def operand_bytes(self, element_bytes: int) -> int:
        """Shared memory of one stage: a block of A and one of B."""
        taken = {"a": self.block_m, "b": self.block_n}
        each = (
            rows * (_CODE_BYTES if side in self.decoded else element_bytes) for side, rows in taken.items()
        )
        return ceil(sum(each) * self.block_k)

    def decoded_bytes(self) -> int:
        """Shared memory of the values of one step that are decoded in the K loop, less the codes' own, whose
        stage is free by then.
        """
        rows = (self.block_m if side == "a" else self.block_n for side in self.decoded)
        return ceil(sum(rows) * self.block_k * (_VALUE_BYTES - _CODE_BYTES))

    def within(self, shared_memory_bytes: int, element_bytes: int, out_bytes: int) -> "Blocks | None":
        """These with as many of their stages as fit; None where fewer than two do.

        Persistent programs load the next block while D leaves through shared memory.
        """
        out = self.block_m * self.block_n * out_bytes if self.persistent else 0
        left = shared_memory_bytes - _RESERVED_BYTES - out - self.decoded_bytes()
        stages = left // self.operand_bytes(element_bytes)
        return replace(self, stages=min(self.stages, stages)) if stages >= _LEAST_STAGES else None


def built_in(
    mnk: tuple[int, int, int],
    *,
    sms: int,
    shared_memory_bytes: int,
    block_k: int,
    native_mx: bool,
    promoted: bool,
    element_bytes: int,
    out_bytes: int,
    tma: bool,
) -> Blocks:
    """Blocks of the simple schedule where no table has any: what was good on an H200, cut to what fits here.

    element_bytes and out_bytes: of one number of A or B as it is multiplied, and of D.
    """
    common: dict[str, int | bool] = {"block_k": block_k, "tma": tma}
    promoting = Blocks(block_m=64, block_n=128, warps=4, stages=3, group=32, **common)
    low = Blocks(block_m=64, block_n=128, warps=4, stages=4, **common)
    middle = Blocks(block_m=128, block_n=128, warps=4 if tma else 8, stages=4, **common)
    large = Blocks(block_m=128, block_n=256, warps=8, stages=3, persistent=True, **common)
    if native_mx:  # the scaled instruction is 128 rows high
        wanted = [replace(middle, warps=8, stages=3)]
    elif promoted:  # small enough for three programs on an SM: one promotes while another multiplies
        wanted = [promoting]
    elif mnk[0] <= low.block_m:
        wanted = [low]
    elif large.count(*mnk[:2]) < sms:
        wanted = [middle, low]
    else:
        wanted = [large, middle, low]
    for blocks in wanted:
        fitting = blocks.within(shared_memory_bytes, element_bytes, out_bytes)
        if fitting is not None and (fitting == blocks or not blocks.persistent):
            return fitting
    return replace(wanted[-1], stages=_LEAST_STAGES)
