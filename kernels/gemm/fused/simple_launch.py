"""The launcher of the fused GEMM that reads from top to bottom."""

from dataclasses import replace
from typing import TYPE_CHECKING

from kernels.device import COMPILE_OPTIONS, DeviceKind
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.factor import Factor
from kernels.gemm.fused.into import Into, TileFacts
from kernels.gemm.hopper.descriptors import WARPS
from kernels.gemm.meaning import ScaleAt
from kernels.gemm.plan import GemmPlan
from kernels.gemm.simple.launch import kernel_constants
from kernels.launching.launch import launch as launch_kernel
from kernels.quantize.plan import K_PADDING

if TYPE_CHECKING:
    import torch

_PERSISTENT = ("ACCUMULATE", "PERSISTENT", "EARLY")
"""Constants of the plain kernel that the fused one has not."""


def simple_blocks(blocks: Blocks, tile: int, *, rounds: bool = False) -> Blocks:
    """The simple kernel's blocks for a fused GEMM: one run of K, a block a program, with whole tiles of D.

    Quantizing takes registers beside the sums, so blocks are not wide, and have 8 warps. `rounds`: A is
    rounded to bf16 values, which lie in registers. Then nothing is prefetched: Triton would let the next step
    overwrite them while the tensor core still reads.
    """
    return replace(
        blocks,
        body=Body.SIMPLE,
        block_n=max(min(blocks.block_n, K_PADDING), tile),
        warps=2 * WARPS,
        stages=1 if rounds else blocks.stages,
        split_k=1,
        uneven=False,
        persistent=False,
        tma=True,
        transposed=False,
        decoded="",
    )


def launch_simple(
    plan: GemmPlan,
    a: Factor,
    b: Factor,
    out: "torch.Tensor",
    kind: DeviceKind,
    *,
    into: Into | None = None,
    quantizes: TileFacts | None = None,
) -> object:
    """Multiply A [M, K] and B [N, K] into out, which is D [M, N] or, with `into`, its codes. Gives Triton's
    handle of what ran. `quantizes`: A comes as it is, and these are the tiles that it is quantized in.
    """
    from triton.tools.tensor_descriptor import TensorDescriptor

    from kernels.gemm.fused.simple_kernel import fused_gemm_kernel

    facts, rounds = None if into is None else into.facts, plan.meaning.scale_at is not ScaleAt.K_LOOP
    blocks = simple_blocks(
        plan.blocks, 1 if facts is None else facts.tile, rounds=rounds and quantizes is not None
    )
    plan, (m, k), n = replace(plan, blocks=blocks), a.given.shape, b.given.shape[0]
    boxes = [
        TensorDescriptor(each, list(each.shape), [each.stride(0), 1], [rows, blocks.block_k])
        for each, rows in ((a.given, blocks.block_m), (b.given, blocks.block_n))
    ]
    return launch_kernel(
        fused_gemm_kernel,
        (blocks.count(m, n),),
        *boxes,
        b.scale,
        out,
        *(into.pointers if into is not None else (None, None)),
        m,
        n,
        k,
        a.scale,
        a.mn_tiles,
        b.mn_tiles,
        out.stride(0),
        **simple_constants(plan, k, kind, quantizes, facts),
        num_warps=blocks.warps,
        num_stages=blocks.stages,
        **COMPILE_OPTIONS,
    )


def simple_constants(
    plan: GemmPlan, k: int, kind: DeviceKind, quantizes: TileFacts | None, into: TileFacts | None
) -> dict[str, object]:
    """The constexpr arguments of fused_gemm_kernel."""
    plain = kernel_constants(plan, k, accumulate=False, kind=kind)
    own = {name: value for name, value in plain.items() if name not in _PERSISTENT}
    return {"QUANTIZES": quantizes, "INTO": into, **own}
