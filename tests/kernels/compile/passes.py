"""The passes over operands among what tests.kernels.compile.plans compiles."""

from collections.abc import Iterator

from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES
from fp8core.refold import REFOLDED_TILES
from kernels.device import HOPPER, Device, DeviceKind
from kernels.gemm.arithmetic import Arithmetic
from kernels.gemm.numerics import Numerics, Summation, numerics_of
from kernels.gemm.passes.decode import decode_ptx, read_as
from kernels.gemm.passes.dequantize import PASS_BLOCK, dequantize_constants
from kernels.gemm.passes.refold import WARPS, refold_constants
from kernels.launching.launch import starts_early
from tests.kernels.compile.cases import Case

_BYTES = (("scale_ptr", "*u8"),)
_FP32 = (("scale_ptr", "*fp32"),)


def passes(device: Device) -> Iterator[Case]:
    """Each pass as some recipe asks for it, and each order of bf16 numbers along K."""
    for recipe in RECIPES.values():
        for matmul in MATMULS.values():
            numerics = numerics_of(recipe.spec(matmul), device, Summation.RECIPE)
            if isinstance(numerics, Numerics) and numerics.arithmetic is Arithmetic.DEQUANTIZED:
                yield from _dequantized(numerics, device)
    block = {"BLOCK_MN": PASS_BLOCK[0], "BLOCK_K": PASS_BLOCK[1]}
    for order in (4, 8) if device is HOPPER else ():  # that of the decoding variant, which runs there alone
        constants = (("ORDER", order), ("EARLY", starts_early(device)), *block.items())
        types = (("x_ptr", "*bf16"),)
        yield Case(name=f"{order}", device=device, kernel="reorder_kernel", types=types, constants=constants)
    for scale in ("e8m0", "e4m3"):
        constants = (("SCALE", scale), ("BLOCK", 1024))
        types = (("stored_ptr", "*u8"),)
        yield Case(name=scale, device=device, kernel="widen_scales_kernel", types=types, constants=constants)
    mx = RECIPES["mxfp8"].fprop.a
    for tile in REFOLDED_TILES.values():
        constants = tuple(refold_constants(mx, tile, DeviceKind.GPU).items())
        yield Case(
            name=f"mxfp8 to {tile}",
            device=device,
            kernel="refold_kernel",
            types=_BYTES,
            constants=constants,
            warps=WARPS,
        )


def _dequantized(numerics: Numerics, device: Device) -> Iterator[Case]:
    """Both operands of a matmul, and where the decoding variant takes them, in its order."""
    for side in Side:
        spec = numerics.spec.operand(side)
        if spec is None:
            continue
        read = read_as(spec)
        orders = (0, read.format.packed_bits) if device is HOPPER and decode_ptx(read) else (0,)
        for order in orders:
            on_codes = numerics.on_codes(side)
            constants = dequantize_constants(spec, DeviceKind.GPU, on_codes=on_codes, order=order)
            yield Case(
                name=f"{spec.format.name} {spec.tile}, order {order}",
                device=device,
                kernel="dequantize_kernel",
                types=_BYTES if spec.scale_rule.format.bits == 8 else _FP32,
                constants=(*constants.items(), ("EARLY", starts_early(device))),
            )
