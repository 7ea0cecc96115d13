"""Blocks: the cut of a GEMM into programs. They decide its speed, not its meaning. Pure; no torch."""

from dataclasses import dataclass, replace
from enum import Enum
from math import ceil

from fp8core.linear import Side
from kernels.gemm.hopper.sizes import LEAST_SHARE
from kernels.gemm.shape_class import FEW

MAX_SPLIT = 32
MIN_DOT_K = 32
"""The fewest products along K of one multiplication in the tensor core, as Triton has it."""
LEAST_STAGES = 2
_RESERVED_BYTES = 2 << 10
_WARPS = (4, 8)
_THREE_WARPS, _DECODING_WARPS = (12,), (*_WARPS, 16)
_VALUE_BYTES = 2
_CODE_BYTES = 1 + 4 / 32
"""Bytes of a code with its share of an fp32 scale, which 32 codes have in common."""


class Body(Enum):
    """The kernel code that multiplies; kernels.gemm.bodies.BODIES has an entry for each."""

    SIMPLE = "simple"
    NATIVE_MX = "native_mx"
    CHAINED = "chained"
    CHAINED_SHARED = "chained_shared"
    PROMOTED = "promoted"
    PROMOTED_LENT = "promoted_lent"
    PROMOTED_THREE = "promoted_three"
    PROMOTED_FEW_ROWS = "promoted_few_rows"
    NARROW = "narrow"
    DECODING = "decoding"

    @property
    def is_simple(self) -> bool:
        """True for `tl` code, which reads from top to bottom. The other bodies are Gluon for sm_90: one warp
        loads, the others multiply.
        """
        return self in (Body.SIMPLE, Body.NATIVE_MX)


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Work of one program: it computes block_m × block_n of D in steps of block_k.

    - group: number of block rows that go together, so that L2 holds their B. A warp-specialized body groups
      block columns where a block is higher than wide. Neighbors then load the same block of the operand of
      which they load more.
    - persistent: one program an SM takes many blocks.
    - split_k: number of programs that share a block. Each has its own run of K. Persistent programs share
      only the blocks that are left when all have as many whole ones.
    - uneven: persistent programs have equally many steps along K, in whole blocks and in parts of them.
    - tma: operands come as descriptors.
    - transposed: the kernel computes Dᵀ = B · Aᵀ. The tensor core's blocks are 64 rows high or more. Rows of
      B waste none of that height where M is less.
    - decoded: "a", "b" or "ab" names operands with scales along K that the K loop decodes. They come as
      codes. A pass before the kernel decodes the others. The decoding body decodes A or B. Where it decodes
      B, it computes Dᵀ whatever `transposed` says.

    Raises ValueError for blocks that no kernel can be compiled with.
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
    uneven: bool = False
    tma: bool = True
    transposed: bool = False
    decoded: str = ""

    def __post_init__(self) -> None:
        for name in ("block_m", "block_n", "block_k"):
            size = getattr(self, name)
            if size < 1 or (size & (size - 1) and self.body.is_simple):
                raise ValueError(f"{name} is a power of two, got {size}")
        warps = {Body.PROMOTED_THREE: _THREE_WARPS, Body.DECODING: _DECODING_WARPS}.get(self.body, _WARPS)
        if self.warps not in warps or self.stages < 1 or self.group < 1:
            raise ValueError(
                f"a block takes {' or '.join(map(str, warps))} warps, 1 stage or more and a group of 1 or "
                f"more, got {self.warps} warps, {self.stages} stages, a group of {self.group}"
            )
        if not 1 <= self.split_k <= MAX_SPLIT or (self.body.is_simple and self.shares_last):
            raise ValueError(
                f"K is split into 1 to {MAX_SPLIT} runs, and not by persistent programs of a simple body, "
                f"got {self.split_k}{' by persistent programs' if self.persistent else ''}"
            )
        if self.decoded not in ("", "a", "b", "ab"):
            raise ValueError(f'decoded names operands: "", "a", "b" or "ab", got {self.decoded!r}')
        if self.uneven and not (self.persistent and self.split_k == 1 and self.decoded in ("a", "b")):
            raise ValueError(
                "only persistent programs that decode one operand have uneven parts, and no runs of K, got "
                f"{self.title}"
            )
        fault = self._simple_fault() if self.body.is_simple else self._specialized_fault()
        if fault:
            raise ValueError(fault)

    def _simple_fault(self) -> str:
        """Fault of these blocks for a `tl` body, in a sentence; empty where there is none."""
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
        """Fault of these blocks for a Gluon body, in a sentence; empty where there is none."""
        decodes = ("a", "b", "ab") if self.body is Body.DECODING else ("",)
        if not self.transposed and self.decoded in decodes:
            return ""
        able = "A or B or both" if self.body is Body.DECODING else "neither A nor B"
        turned = ", transposed" if self.transposed else ""
        return (
            f"the {self.body.value} body is not transposed and decodes {able}, got {self.decoded!r}{turned}"
        )

    def decodes(self, side: Side) -> bool:
        """True where the K loop decodes that operand's codes."""
        return side.value.lower() in self.decoded

    @property
    def is_general(self) -> bool:
        """True where the simple body is general_gemm_kernel. It splits K, decodes operands, computes Dᵀ or
        does without TMA. Otherwise the simple body is gemm_kernel, which reads from top to bottom.
        """
        plain = self.tma and self.split_k == 1 and not (self.transposed or self.decoded)
        return self.body is Body.SIMPLE and not plain

    @property
    def shares_last(self) -> bool:
        """True where persistent programs share the blocks of their last wave."""
        return self.persistent and self.split_k > 1

    @property
    def title(self) -> str:
        """The blocks in words, for a result's row."""
        persistent = ", persistent" if self.persistent else ""
        pointers = "" if self.tma else ", no TMA"
        split = "" if self.split_k == 1 else f", K split in {self.split_k}"
        split += " for the last blocks" if self.shares_last else ""
        split += ", as many steps for every program" if self.uneven else ""
        transposed = ", as Dᵀ" if self.transposed else ""
        decoded = f", {' and '.join(self.decoded.upper())} decoded in the K loop" if self.decoded else ""
        schedule = "simple" if self.body.is_simple else "warp-specialized"
        return (
            f"{schedule} schedule, block {self.block_m}×{self.block_n}×{self.block_k}, "
            f"{self.warps} warps, {self.stages} stages{persistent}{split}{pointers}"
            f"{transposed}{decoded}"
        )

    def count(self, m: int, n: int) -> int:
        """Number of blocks in D."""
        return -(-m // self.block_m) * -(-n // self.block_n)

    def programs(self, m: int, n: int, sms: int) -> int:
        """Programs that are launched for D [m, n] where none has a run of K of its own. Of persistent ones as
        few as have no more blocks each than with one on every SM: all are done at once, and go through D in
        step, so that the L2 reads once for several what they all load. Where M is few, more SMs read B
        faster.
        """
        count = self.count(m, n)
        if self.uneven:
            return sms if count else 0
        if not self.persistent or count <= sms:
            return count
        if self.shares_last:
            return sms
        return sms if m <= FEW else -(-count // -(-count // sms))

    def whole(self, m: int, n: int, sms: int) -> int:
        """Blocks of D that no programs share: all, none, or those of persistent programs' full waves, all but
        one where parts are uneven.
        """
        count = self.count(m, n)
        if self.uneven:
            return max(0, count // sms - 1) * sms
        if self.split_k == 1:
            return count
        programs = self.programs(m, n, sms)
        return count // programs * programs if self.shares_last and count > programs else 0

    def share(self, mnk: tuple[int, int, int], sms: int) -> int:
        """Steps along K that a program has of the blocks after whole ones, where parts are uneven."""
        m, n, k = mnk
        steps = (self.count(m, n) - self.whole(m, n, sms)) * -(-k // self.block_k)
        return max(LEAST_SHARE, -(-steps // self.programs(m, n, sms)))

    def runs(self, k: int) -> tuple[int, int]:
        """Runs of K, and steps of block_k in each. The last run may be shorter; none is empty."""
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
        """Shared memory of the values that one step decodes in the K loop, less that of their codes. The
        codes' stage is free by then.
        """
        rows = (self.block_m if side == "a" else self.block_n for side in self.decoded)
        return ceil(sum(rows) * self.block_k * (_VALUE_BYTES - _CODE_BYTES))

    def within(self, shared_memory_bytes: int, element_bytes: int, out_bytes: int) -> "Blocks | None":
        """Blocks with as many of their stages as fit; None where fewer than two do.

        Persistent programs load the next block while D leaves through shared memory.
        """
        out = self.block_m * self.block_n * out_bytes if self.persistent else 0
        left = shared_memory_bytes - _RESERVED_BYTES - out - self.decoded_bytes()
        stages = left // self.operand_bytes(element_bytes)
        return replace(self, stages=min(self.stages, stages)) if stages >= LEAST_STAGES else None
