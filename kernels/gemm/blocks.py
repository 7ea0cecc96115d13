"""How a GEMM is cut into programs: the part of a plan that decides speed and not meaning. Pure; no torch."""

from dataclasses import dataclass, replace
from enum import Enum
from math import ceil

MAX_SPLIT = 32
MIN_DOT_K = 32
"""The fewest products along K of one multiplication in the tensor core, as Triton has it."""
LEAST_STAGES = 2
_RESERVED_BYTES = 2 << 10
_WARPS = (4, 8)
_VALUE_BYTES = 2
_CODE_BYTES = 1 + 4 / 32
"""A code, and its part of an fp32 scale of 32."""


class Body(Enum):
    """The kernel code that multiplies; kernels.gemm.bodies.BODIES has an entry for each."""

    SIMPLE = "simple"
    NATIVE_MX = "native_mx"
    CHAINED = "chained"
    PROMOTED = "promoted"
    PROMOTED_LENT = "promoted_lent"
    PROMOTED_FEW_ROWS = "promoted_few_rows"
    NARROW = "narrow"
    DECODING = "decoding"

    @property
    def is_simple(self) -> bool:
        """Whether it is `tl` code that reads top to bottom. The others are Gluon for sm_90: one warp loads,
        the others multiply.
        """
        return self in (Body.SIMPLE, Body.NATIVE_MX)


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """What one program computes, block_m × block_n of D in steps of block_k, and with what.

    group: so many block rows go together, so that L2 holds their B; in a warp-specialized body block
    columns where a block is higher than wide, so that neighbors load the same block of the operand of which
    they load more. persistent: one program an SM takes many blocks. split_k: that many programs share a
    block, each with its own run of K. tma: operands come as descriptors.
    transposed: the kernel computes Dᵀ = B · Aᵀ: the tensor core's blocks are 64 rows high or more, and those
    of B waste none of it where M is less. decoded: of operands with scales along K, "a", "b" or "ab" come as
    codes and are decoded in the K loop; the others by a pass before. The decoding body decodes A or B, and
    of B computes Dᵀ whatever `transposed` says.
    Raises ValueError for what no kernel can be compiled with.
    """

    body: Body = Body.SIMPLE
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
            if size < 1 or (size & (size - 1) and self.body.is_simple):
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
        fault = self._simple_fault() if self.body.is_simple else self._specialized_fault()
        if fault:
            raise ValueError(fault)

    def _simple_fault(self) -> str:
        """What the `tl` bodies cannot have, in a sentence; empty where there is nothing."""
        turned = ", transposed" if self.transposed else ""
        if self.decoded == ("b" if self.transposed else "a"):
            return (
                "the left factor is not decoded alone: its values lie in registers, and Triton lets the next "
                f"step overwrite them while the tensor core still reads; got {self.decoded!r}{turned}"
            )
        plain = self.tma and self.split_k == 1 and not (self.persistent or self.transposed or self.decoded)
        if self.body is Body.NATIVE_MX and not plain:
            return f"the scaled tensor core's kernel has TMA and one program a block, got {self.title}"
        return ""

    def _specialized_fault(self) -> str:
        """What the Gluon bodies cannot have."""
        decodes = ("a", "b") if self.body is Body.DECODING else ("",)
        if not self.transposed and self.decoded in decodes:
            return ""
        able = "A or B alone" if self.body is Body.DECODING else "neither A nor B"
        turned = ", transposed" if self.transposed else ""
        return (
            f"the {self.body.value} body is not transposed and decodes {able}, got {self.decoded!r}{turned}"
        )

    @property
    def is_general(self) -> bool:
        """True where the simple body is general_gemm_kernel: K is split, operands are decoded, the kernel
        computes Dᵀ, or there is no TMA. The others are gemm_kernel, which reads from top to bottom.
        """
        plain = self.tma and self.split_k == 1 and not (self.transposed or self.decoded)
        return self.body is Body.SIMPLE and not plain

    @property
    def title(self) -> str:
        """The blocks in words, for a result's row."""
        persistent = ", persistent" if self.persistent else ""
        pointers = "" if self.tma else ", no TMA"
        split = "" if self.split_k == 1 else f", K split in {self.split_k}"
        transposed = ", as Dᵀ" if self.transposed else ""
        decoded = f", {' and '.join(self.decoded.upper())} decoded in the K loop" if self.decoded else ""
        schedule = "simple" if self.body.is_simple else "warp-specialized"
        return (
            f"{schedule} schedule, block {self.block_m}×{self.block_n}×{self.block_k}, "
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
        return replace(self, stages=min(self.stages, stages)) if stages >= LEAST_STAGES else None
