"""Compile kernels for GPUs that need not be here, and print what the compiler says, one JSON object a line.

Run as a program, without TRITON_INTERPRET: compiled and interpreted kernels do not live in one process.
"""

import json
import re
import sys
from collections.abc import Iterator

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, CompiledKernel

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import BLACKWELL, COMPILE_OPTIONS, HOPPER, Device, DeviceKind
from kernels.family import Kernel
from kernels.gemm import dequantize_constants, kernel_constants
from kernels.gemm_kernel import gemm_kernel
from kernels.mx_kernel import dequantize_kernel, native_mx_gemm_kernel
from kernels.plan import GemmPlan, plan_gemm
from kernels.quantize import format_facts, quantize_constants
from kernels.quantize_kernel import amax_kernel, encode_kernel, quantize_kernel
from kernels.quantize_plan import plan_quantize
from kernels.rows import Accumulation

SHAPES = ((8192, 8192, 8192), (1, 4096, 4096))
FLOAT8 = {"e4m3": "fp8e4nv", "e5m2": "fp8e5"}
POINTERS = {
    "codes_ptr": "*u8",
    "x_ptr": "*bf16",
    "amax_ptr": "*i32",
    "arrivals_ptr": "*i32",
    "values_ptr": "*bf16",
}


def compiled(
    kernel, types: dict[str, str], constants: dict, device: Device, warps=4, stages=3
) -> CompiledKernel:
    """A kernel for a device's target; other arguments are fp32 pointers or 32-bit integers."""
    names = kernel.arg_names
    signature, known, aligned = {}, {}, {}
    for place, name in enumerate(names):
        if name in constants:
            signature[name], known[(place,)] = "constexpr", constants[name]
        elif name == "out_stride_n":
            signature[name], known[(place,)] = "constexpr", 1
        else:
            pointer = POINTERS.get(name, "*fp32") if name.endswith("_ptr") else "i32"
            signature[name] = types.get(name, pointer)
            if not signature[name].startswith("tensordesc"):
                aligned[(place,)] = [["tt.divisibility", 16]]
    major, minor = device.capability
    return triton.compile(
        ASTSource(kernel, signature, known, aligned),
        target=GPUTarget("cuda", 10 * major + minor, 32),
        options={"num_warps": warps, "num_stages": stages, **COMPILE_OPTIONS},
    )


def gemm(plan: GemmPlan, device: Device) -> CompiledKernel:
    constants = kernel_constants(
        plan, plan.blocks.split_k * plan.block_k, accumulate=False, kind=DeviceKind.GPU
    )
    types = {"out_ptr": f"*{plan.spec.out.name}"}
    if plan.blocks.split_k == 1:
        constants |= {"parts_ptr": None, "arrivals_ptr": None}
    kernel = native_mx_gemm_kernel if plan.kernel is Kernel.NATIVE_MX else gemm_kernel
    sides = ((plan.block_m, plan.spec.a), (plan.block_n, plan.spec.b))
    for name, (block, spec) in zip(kernel.arg_names, sides, strict=False):
        dtype = "bf16" if plan.kernel is Kernel.DEQUANTIZED else FLOAT8[spec.format.name]
        types[name] = f"tensordesc<{dtype}[{block}, {plan.block_k}]>" if plan.blocks.tma else f"*{dtype}"
    return compiled(kernel, types, constants, device, plan.blocks.warps, plan.blocks.stages)


def report(name: str, kind: str, device: Device, kernel: CompiledKernel) -> None:
    ptx = kernel.asm["ptx"]
    matmuls = sorted(set(re.findall(r"wgmma\.mma_async\S*|tcgen05\.mma\S*", ptx)))
    sys.stdout.write(
        json.dumps(
            {
                "name": name,
                "kind": kind,
                "device": device.name,
                "shared": kernel.metadata.shared,
                "limit": device.shared_memory_bytes,
                "matmuls": matmuls,
                "stack": stack_bytes(kernel.asm["cubin"]),
            }
        )
        + "\n"
    )


def stack_bytes(cubin: bytes) -> int:
    """Stack frame of the one kernel in a cubin, 0 where nothing spills: EIATTR_FRAME_SIZE in its .nv.info.

    An entry is: format 4, attribute 0x11, size 8, then the symbol and the bytes.
    """
    sizes = [
        int.from_bytes(cubin[at + 8 : at + 12], "little")
        for at in (found.start() for found in re.finditer(b"\x04\x11\x08\x00", cubin))
    ]
    assert sizes, "the cubin tells no frame size"
    return max(sizes)


def plans() -> Iterator[tuple[str, Device, GemmPlan]]:
    """Every distinct plan of the recipes on Hopper, and those of Blackwell that differ in kernel."""
    seen = set()
    for device in (HOPPER, BLACKWELL):
        for recipe in RECIPES.values():
            for matmul in MATMULS.values():
                for mnk in SHAPES:
                    plan = plan_gemm(recipe.spec(matmul), mnk, device, Accumulation.RECIPE)
                    native = plan.kernel is Kernel.NATIVE_MX
                    if plan in seen or (device is BLACKWELL and not native):
                        continue
                    seen.add(plan)
                    yield f"{recipe.name}-{matmul.name}-{mnk[0]}", device, plan


def main() -> None:
    for name, device, plan in plans():
        report(name, plan.kernel.name, device, gemm(plan, device))
    specs = {operand for r in RECIPES.values() for s in (r.fprop, r.wgrad) for operand in (s.a, s.b)}
    for spec in sorted(specs, key=str):
        plan = plan_quantize(spec.tile)
        for kernel in (quantize_kernel,) if plan.fused else (amax_kernel, quantize_kernel):
            constants = quantize_constants(spec, spec.tile, DeviceKind.GPU)
            constants = {name: constants[name] for name in kernel.arg_names if name in constants}
            done = compiled(kernel, {}, constants, HOPPER, plan.warps)
            report(f"{kernel.fn.__name__}-{spec.format.name}-{spec.tile}", "", HOPPER, done)
    mx = RECIPES["mxfp8"].fprop.a
    done = compiled(dequantize_kernel, {}, dequantize_constants(mx, DeviceKind.GPU), HOPPER)
    report("dequantize_kernel", "", HOPPER, done)
    facts = format_facts(mx.format) | {"CAST": True, "BLOCK": 1024}
    report("encode_kernel", "", HOPPER, compiled(encode_kernel, {"x_ptr": "*fp32"}, facts, HOPPER))


if __name__ == "__main__":
    main()
