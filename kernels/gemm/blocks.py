"""Blocks: the cut of a GEMM into programs. They decide its speed, not its numerics. Pure; no torch."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from math import ceil, inf

from fp8core.linear import Side

FEW = 256
"""M up to which a GEMM is one of few tokens: reading B takes most of the time."""
MAX_SPLIT = 32
MIN_DOT_K = 32
"""The fewest products along K of one multiplication in Triton's tensor core."""
LEAST_STAGES = 2
_RESERVED_BYTES = 2 << 10
_WARPS = (4, 8)
_DECODING_WARPS = (*_WARPS, 16)
_VALUE_BYTES = 2
_CODE_BYTES = 1 + 4 / 32
"""Bytes of a code with its share of an fp32 scale, which 32 codes have in common."""


class Variant(Enum):
    """The kernel code that multiplies; kernels.gemm.variants.VARIANTS has an entry for each."""

    SIMPLE = "simple"
    NATIVE_MX = "native_mx"
    CHAINED = "chained"
    PROMOTED = "promoted"
    PROMOTED_REUSE = "promoted_reuse"
    SMALL_M = "small_m"
    DECODING = "decoding"

    @property
    def is_simple(self) -> bool:
        """True for `tl` code; the others are warp-specialized Gluon for sm_90."""
        return self in (Variant.SIMPLE, Variant.NATIVE_MX)


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Work of one program: it computes block_m × block_n of D in steps of block_k.

    - group: block rows that go together, so that L2 holds their B. A warp-specialized variant groups block
      columns where a block is higher than wide.
    - persistent: one program an SM takes many blocks.
    - split_k: splits of K, each summed by one program. Of persistent programs, only small_m's share blocks.
    - tma: operands come as descriptors.
    - transposed: the kernel computes Dᵀ = B · Aᵀ. The tensor core's blocks are 64 rows high or more; with a
      small M, rows of B fill them.
    - decoded: "a", "b" or "ab": operands whose codes the K loop decodes. With "b", the decoding variant
      computes Dᵀ whatever `transposed` says.

    Raises ValueError for blocks that no kernel can be compiled with.
    """

    variant: Variant = Variant.SIMPLE
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
        if fault := next(self._faults(), ""):
            raise ValueError(fault)

    def _faults(self) -> Iterator[str]:
        simple, decoding = self.variant.is_simple, self.variant is Variant.DECODING
        for name in ("block_m", "block_n", "block_k"):
            size = getattr(self, name)
            if size < 1 or (size & (size - 1) and simple):
                yield f"{name} is a power of two, got {size}"
        warps = _DECODING_WARPS if decoding else _WARPS
        if self.warps not in warps or self.stages < 1 or self.group < 1:
            yield (
                f"a block takes {' or '.join(map(str, warps))} warps, 1 stage or more and a group of 1 or "
                f"more, got {self.warps} warps, {self.stages} stages, a group of {self.group}"
            )
        shares = not self.persistent or self.variant is Variant.SMALL_M
        if not 1 <= self.split_k <= (MAX_SPLIT if shares else 1):
            yield (
                f"K is split into 1 to {MAX_SPLIT} parts, and by persistent programs only in small_m, "
                f"got {self.split_k}{' by persistent programs' if self.persistent else ''}"
            )
        if self.decoded not in ("", "a", "b", "ab"):
            yield f'decoded names operands: "", "a", "b" or "ab", got {self.decoded!r}'
        got = f"got {self.decoded!r}{', transposed' if self.transposed else ''}"
        if simple and self.decoded == ("b" if self.transposed else "a"):
            yield (
                "the left factor is not decoded alone: its values lie in registers, and Triton lets the next "
                f"step overwrite them while the tensor core still reads; {got}"
            )
        if self.variant is Variant.NATIVE_MX and (self.persistent or not self._is_plain):
            yield f"the scaled tensor core's kernel has TMA and one program a block, got {self.title}"
        if not simple and (self.transposed or bool(self.decoded) != decoding):
            able = "A or B or both" if decoding else "neither A nor B"
            yield f"the {self.variant.value} variant is not transposed and decodes {able}, {got}"

    @property
    def _is_plain(self) -> bool:
        return self.tma and self.split_k == 1 and not (self.transposed or self.decoded)

    def decodes(self, side: Side) -> bool:
        return side.value.lower() in self.decoded

    @property
    def is_general(self) -> bool:
        """True if the simple variant needs general_gemm_kernel: for split-K, decoding, Dᵀ, or no TMA."""
        return self.variant is Variant.SIMPLE and not self._is_plain

    @property
    def title(self) -> str:
        persistent = ", persistent" if self.persistent else ""
        pointers = "" if self.tma else ", no TMA"
        split = "" if self.split_k == 1 else f", K split in {self.split_k}"
        transposed = ", as Dᵀ" if self.transposed else ""
        decoded = f", {' and '.join(self.decoded.upper())} decoded in the K loop" if self.decoded else ""
        schedule = "simple" if self.variant.is_simple else "warp-specialized"
        return (
            f"{schedule} schedule, block {self.block_m}×{self.block_n}×{self.block_k}, "
            f"{self.warps} warps, {self.stages} stages{persistent}{split}{pointers}"
            f"{transposed}{decoded}"
        )

    def count(self, m: int, n: int) -> int:
        return -(-m // self.block_m) * -(-n // self.block_n)

    def programs(self, m: int, n: int, sms: int, sharing: int = 1) -> int:
        """Programs of a launch for D [m, n], with `sharing` items of work a block.

        Persistent: the fewest with no more items each than one on every SM would have. They end together and
        go through D in step, so the L2 serves several from one read. With a small M, all SMs: more of them
        read B faster.
        """
        count = self.count(m, n) * sharing
        if not self.persistent or count <= sms:
            return count
        return sms if m <= FEW else -(-count // -(-count // sms))

    def splits(self, k: int) -> tuple[int, int]:
        """Splits of K, and steps of block_k in each. The last split may be shorter; none is empty."""
        steps = max(1, -(-k // self.block_k))
        length = -(-steps // min(self.split_k, steps))
        return -(-steps // length), length

    def operand_bytes(self, element_bytes: int) -> int:
        each = (
            rows * (_CODE_BYTES if side in self.decoded else element_bytes)
            for side, rows in (("a", self.block_m), ("b", self.block_n))
        )
        return ceil(sum(each) * self.block_k)

    def decoded_bytes(self) -> int:
        """Shared memory of a step's decoded values, less that of their codes, whose stage is free by then."""
        rows = (self.block_m if side == "a" else self.block_n for side in self.decoded)
        return ceil(sum(rows) * self.block_k * (_VALUE_BYTES - _CODE_BYTES))

    def within(self, shared_memory_bytes: int, element_bytes: int, out_bytes: int) -> "Blocks | None":
        """Blocks with as many of their stages as fit; None for fewer than two.

        Persistent programs load the next block while D leaves through shared memory.
        """
        out = self.block_m * self.block_n * out_bytes if self.persistent else 0
        left = shared_memory_bytes - _RESERVED_BYTES - out - self.decoded_bytes()
        stages = left // self.operand_bytes(element_bytes)
        return replace(self, stages=min(self.stages, stages)) if stages >= LEAST_STAGES else None


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Blocks to choose from, with their orders and split-K, and the GEMMs that they are for.

    - rows: (more than, up to) rows of A; in the decoding variant, of the operand that is not decoded.
    - waves: (more than, up to) blocks of D for each SM. taller: D has more rows than columns, or not.
    - splits: choices of split_k. shared: also as many as give every SM a program, or half or a quarter; of
      persistent programs, also more, if fewer SMs wait at the end. own_splits: splits of K of one program.
    - groups: choices of `group`, without split-K.
    """

    blocks: Blocks
    rows: tuple[float, float] = (0, inf)
    waves: tuple[float, float] = (0, inf)
    taller: bool | None = None
    splits: tuple[int, ...] = (1,)
    shared: bool = False
    own_splits: int = 1
    groups: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", self.groups or (self.blocks.group,))
