from typing import TYPE_CHECKING

from fp8core.formats import FORMATS
from fp8core.tiles import WHOLE
from kernels.device import DeviceKind
from kernels.gemm.factor import Factor
from kernels.gemm.numerics import ScaleAt
from kernels.gemm.passes.decode import decode_shift
from kernels.gemm.plan import GemmPlan
from kernels.gemm.workspace import workspace
from kernels.launching.launch import EARLY_OPTIONS
from kernels.launching.launch import launch as launch_kernel

if TYPE_CHECKING:
    import torch


def launch(
    plan: GemmPlan, a: Factor, b: Factor, out: "torch.Tensor", accumulate: bool, kind: DeviceKind
) -> object:
    from kernels.gemm.simple.general_kernel import general_gemm_kernel
    from kernels.gemm.simple.kernel import gemm_kernel

    numerics, blocks, on_gpu = plan.numerics, plan.blocks, kind is DeviceKind.GPU
    m, n, k = a.matrix.shape[0], b.matrix.shape[0], a.k
    splits, split_steps = blocks.splits(k)
    programs = plan.programs(m, n) if on_gpu else blocks.count(m, n)
    parts = workspace(plan, (m, n, k), out.device)
    block_m, block_n = blocks.block_m, blocks.block_n
    if blocks.transposed:
        a, b, out, m, n, block_m, block_n = b, a, out.T, n, m, block_n, block_m
    scales = a.scale_of(blocks), b.scale_of(blocks)
    kernel, sizes = gemm_kernel, (m, n, k)
    constants: dict[str, object] = {
        **_tiles("A", a, plan),
        **_tiles("B", b, plan),
        "IN_LOOP": numerics.scale_at is ScaleAt.K_LOOP,
        "AT_END": numerics.scales_at_end,
        "PROMOTED": numerics.promotion is not WHOLE,
        "ACCUMULATE": accumulate,
        "CAST": on_gpu,
        "PERSISTENT": blocks.persistent and on_gpu,
        "EARLY": blocks.tma and on_gpu,  # a GPU with TMA can start kernels early, too
        "BLOCK_M": block_m,
        "BLOCK_N": block_n,
        "BLOCK_K": blocks.block_k,
        "GROUP_M": blocks.group,
    }
    if blocks.is_general:
        kernel = general_gemm_kernel
        sizes = (*parts, m, n, k, a.matrix.stride(0), b.matrix.stride(0), split_steps)
        constants |= {"TRANSPOSED": blocks.transposed, "SPLITS": splits, "TMA": blocks.tma}
        constants |= _decoding(a, b, plan)
    return launch_kernel(
        kernel,
        (programs, splits),
        _descriptor(a.matrix, block_m, plan) if blocks.tma else a.matrix,
        _descriptor(b.matrix, block_n, plan) if blocks.tma else b.matrix,
        *scales,
        out,
        *sizes,
        *(scale.stride(0) for scale in scales),
        *out.stride(),
        **constants,
        num_warps=blocks.warps,
        num_stages=blocks.stages,
        **(EARLY_OPTIONS if constants["EARLY"] else {}),
    )


def _descriptor(operand: "torch.Tensor", block_mn: int, plan: GemmPlan) -> object:
    from triton.tools.tensor_descriptor import TensorDescriptor

    box = [block_mn, plan.blocks.block_k]
    return TensorDescriptor(operand, list(operand.shape), [operand.stride(0), 1], box)


def _tiles(name: str, factor: Factor, plan: GemmPlan) -> dict[str, int]:
    """The tiles of a kernel's scales, of codes if it decodes them, else of sums; 0 is all of a dim."""
    decoded = plan.blocks.decodes(factor.side)
    tile = factor.quantized.spec.tile if decoded else plan.numerics.applied(factor.side)
    mn, k = (0, 0) if tile is None else (tile.mn or 0, tile.k or 0)
    return {f"{name}_TILE_MN": mn, f"{name}_TILE_K": k}


def _decoding(a: Factor, b: Factor, plan: GemmPlan) -> dict[str, object]:
    constants: dict[str, object] = {"SCALE": FORMATS["fp32"].name}
    for name, factor in (("A", a), ("B", b)):
        shift = multiplier = 0
        if plan.blocks.decodes(factor.side):
            spec = factor.quantized.spec
            shift, multiplier = decode_shift(spec.format)
            constants["SCALE"] = spec.scale_rule.format.name
        constants |= {f"{name}_SHIFT": shift, f"{name}_FACTOR": multiplier}
    return constants
