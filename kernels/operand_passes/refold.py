"""The refolding pass: from a quantized tensor to the codes and scales of fp8core.refold, bit for bit."""

from fp8core.recipes import OperandSpec
from fp8core.refold import refolded, refolded_grid
from fp8core.tiles import TileShape
from kernels.device import COMPILE_OPTIONS, DeviceKind, current_device, launching
from kernels.operand_passes.plan import REFOLD_BLOCK, REFOLD_WARPS, pass_constants
from kernels.quantize.launch import QuantizedTensor, float8, format_facts


def refold(operand: QuantizedTensor, tile: TileShape) -> QuantizedTensor:
    """Refold an operand to fp8core.refold's LINE or SQUARE, into other memory, laid out as the quantizer
    does.

    Raises NoTriton, and ValueError where fp8core.refold.refolded does.
    """
    import torch

    from kernels.operand_passes.refold_kernel import refold_kernel

    kind, spec = current_device().kind, refolded(operand.spec, tile)
    grid = refolded_grid(operand.grid, spec, k_is_rows=operand.k_is_rows)
    codes = operand.operand_codes.view(torch.uint8)
    mn, k = codes.shape
    k_tiles, mn_tiles = grid.scale_shape if operand.k_is_rows else grid.scale_shape[::-1]
    moved = torch.empty((mn, codes.stride(0)), dtype=torch.uint8, device=codes.device)
    scale = torch.empty((k_tiles, mn_tiles), dtype=torch.float32, device=codes.device)
    constants = refold_constants(operand.spec, tile, kind)
    blocks = (-(-mn // constants["BLOCK_MN"]), k_tiles)
    if codes.numel():
        with launching(codes):
            refold_kernel[blocks](
                codes,
                operand.scale,
                moved,
                scale,
                mn,
                k,
                codes.stride(0),
                operand.operand_scale.stride(1),
                mn_tiles,
                **constants,
                num_warps=REFOLD_WARPS,
                **COMPILE_OPTIONS,
            )
    moved = moved.view(float8(spec.format))[:, :k]
    return QuantizedTensor(
        codes=moved.T if operand.k_is_rows else moved,
        scale=scale if operand.k_is_rows else scale.T,
        grid=grid,
        spec=spec,
        k_is_rows=operand.k_is_rows,
    )


def refold_constants(spec: OperandSpec, tile: TileShape, kind: DeviceKind) -> dict[str, int | bool]:
    """The constexpr arguments of refold_kernel for operands quantized as `spec`, refolded to `tile`."""
    constants = format_facts(spec.format) | pass_constants(spec, REFOLD_BLOCK, kind)
    return constants | {"REFOLDED_MN": tile.mn}
