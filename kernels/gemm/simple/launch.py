from typing import TYPE_CHECKING

from fp8core.formats import FORMATS
from fp8core.linear import Side
from fp8core.tiles import WHOLE
from kernels.device import COMPILE_OPTIONS, DeviceKind
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

    m, n, k = a.matrix.shape[0], b.matrix.shape[0], a.k
    splits, split_steps = plan.blocks.splits(k)
    programs = plan.programs(m, n) if kind is DeviceKind.GPU else plan.blocks.count(m, n)
    block_m, block_n = plan.blocks.block_m, plan.blocks.block_n
    parts = workspace(plan, (m, n, k), out.device)
    if plan.blocks.transposed:
        a, b, out, m, n, block_m, block_n = b, a, out.T, n, m, block_n, block_m
    general = plan.blocks.is_general
    tma, scales = plan.blocks.tma, (a.scale_of(plan.blocks), b.scale_of(plan.blocks))
    sizes = (m, n, k, *([a.matrix.stride(0), b.matrix.stride(0), split_steps] if general else []))
    constants = kernel_constants(plan, k, accumulate=accumulate, kind=kind)
    return launch_kernel(
        general_gemm_kernel if general else gemm_kernel,
        (programs, splits),
        _descriptor(a.matrix, block_m, plan) if tma else a.matrix,
        _descriptor(b.matrix, block_n, plan) if tma else b.matrix,
        *scales,
        out,
        *(parts if general else ()),
        *sizes,
        *(scale.stride(0) for scale in scales),
        *out.stride(),
        **constants,
        num_warps=plan.blocks.warps,
        num_stages=plan.blocks.stages,
        **COMPILE_OPTIONS,
        **(EARLY_OPTIONS if constants["EARLY"] else {}),
    )


def _descriptor(operand: "torch.Tensor", block_mn: int, plan: GemmPlan) -> object:
    from triton.tools.tensor_descriptor import TensorDescriptor

    box = [block_mn, plan.blocks.block_k]
    return TensorDescriptor(operand, list(operand.shape), [operand.stride(0), 1], box)


def kernel_constants(plan: GemmPlan, k: int, *, accumulate: bool, kind: DeviceKind) -> dict[str, object]:
    numerics, blocks = plan.numerics, plan.blocks
    sides = [(Side.A, blocks.block_m), (Side.B, blocks.block_n)]
    (a, block_m), (b, block_n) = reversed(sides) if blocks.transposed else sides
    constants: dict[str, object] = {
        "ACCUMULATE": accumulate,
        "BLOCK_M": block_m,
        "BLOCK_N": block_n,
        "BLOCK_K": blocks.block_k,
        "GROUP_M": blocks.group,
    }
    spec = numerics.spec
    splits, split_steps = blocks.splits(k)
    constants |= {
        **_tiles("A", a, plan),
        **_tiles("B", b, plan),
        "IN_LOOP": numerics.scale_at is ScaleAt.K_LOOP,
        "AT_END": numerics.scales_at_end,
        "PROMOTED": numerics.scale_at is ScaleAt.EPILOGUE and numerics.promotion is not WHOLE,
        "KNOWN_STEPS": 0 if kind is DeviceKind.GPU else split_steps,
        "PERSISTENT": blocks.persistent and kind is DeviceKind.GPU,
        # a GPU with TMA can start kernels early, too
        "EARLY": blocks.tma and kind is DeviceKind.GPU,
    }
    if not blocks.is_general:
        return constants
    scales = {spec.operand(side).scale_rule.format.name for side in Side if blocks.decodes(side)}
    for name, side in (("A", a), ("B", b)):
        decoded = blocks.decodes(side)
        shift, factor = decode_shift(spec.operand(side).format) if decoded else (0, 0)
        constants |= {f"{name}_SHIFT": shift, f"{name}_FACTOR": factor}
    scale = next(iter(scales), FORMATS["fp32"].name)
    general = {"TRANSPOSED": blocks.transposed, "SPLITS": splits, "TMA": blocks.tma}
    return constants | general | {"SCALE": scale}


def _tiles(name: str, side: Side, plan: GemmPlan) -> dict[str, int]:
    """The tiles of a kernel's scales, of codes if it decodes them, else of sums; 0 is all of a dim."""
    decoded = plan.blocks.decodes(side)
    tile = plan.numerics.spec.operand(side).tile if decoded else plan.numerics.applied(side)
    mn, k = (0, 0) if tile is None else (tile.mn or 0, tile.k or 0)
    return {f"{name}_TILE_MN": mn, f"{name}_TILE_K": k}
