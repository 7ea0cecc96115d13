"""Kernels to compile, heard: launches for a device that need not be here are written down and not made."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from types import ModuleType

import pytest
import torch

from kernels import device as devices
from kernels.device import Device
from kernels.launching.launch import launch
from kernels.quantize.quantize import check_device

LAUNCHERS = (
    "kernels.check.quantizers",
    "kernels.gemm.blackwell",
    "kernels.gemm.hopper.decoding.launch",
    "kernels.gemm.hopper.launch",
    "kernels.gemm.passes.refold",
    "kernels.gemm.passes.widen",
    "kernels.gemm.simple.launch",
)
"""Modules that are first imported where something is launched."""
TYPES = {
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.int32: "i32",
    torch.uint8: "u8",
    torch.float8_e4m3fn: "fp8e4nv",
    torch.float8_e5m2: "fp8e5",
}
OPTIONS = ("enable_fp_fusion", "launch_cooperative_grid", "launch_pdl")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One kernel to compile, as plain data that goes to another process; two that differ in name are one.

    kind: a GEMM's arithmetic, by name; role: a quantizer's source and copies.
    """

    name: str = field(compare=False)
    device: Device
    module: str
    kernel: str
    types: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, object], ...]
    warps: int
    stages: int
    kind: str = ""
    role: str = ""
    options: tuple[tuple[str, object], ...]


@cache
def uses(function: Callable[..., object]) -> list[tuple[ModuleType, str]]:
    """Modules of kernels that have a function, and its name there."""
    for name in LAUNCHERS:
        import_module(name)
    modules = [module for name, module in sys.modules.items() if name.startswith("kernels.")]
    return [(module, name) for module in modules for name, own in vars(module).items() if own is function]


@contextmanager
def heard(device: Device) -> Iterator[list[Case]]:
    """Cases of what is launched."""
    cases = []

    def hear(kernel, grid, *arguments, **constants):
        cases.append(case(device, kernel, arguments, constants | devices.COMPILE_OPTIONS))

    stand_ins = {
        launch: hear,
        check_device: lambda *given: None,
        devices.launch_context: nullcontext,
        devices.current_device: lambda: device,
        devices.compiles_only: lambda: True,
    }
    with pytest.MonkeyPatch.context() as patch:
        for function, stand_in in stand_ins.items():
            for module, name in uses(function):
                patch.setattr(module, name, stand_in)
        yield cases


def case(device: Device, kernel, arguments, constants) -> Case:
    """A launch as the compiler sees it: None and 1 are constants, as in Triton's own launches."""
    types, known = {}, {}
    open_ones = {each.name for each in getattr(kernel, "params", ()) if each.do_not_specialize}
    for name, argument in zip(kernel.arg_names, arguments, strict=False):
        if argument is None or (isinstance(argument, int) and argument == 1 and name not in open_ones):
            known[name] = argument
        elif isinstance(argument, int):
            types[name] = "i64" if name.endswith("seed") else "i32"
        else:
            types[name] = described(argument)
    options = {name: constants[name] for name in OPTIONS if name in constants}
    warps, stages = constants.get("num_warps", 4), constants.get("num_stages", 3)
    constants = {name: value for name, value in constants.items() if name in kernel.arg_names}
    source = constants.get("SOURCE")
    plan = constants.get("PLAN")
    copies = [name for name in ("along", "down") if constants.get(name.upper()) or getattr(plan, name, None)]
    return Case(
        name=f"{source or 'x'} {' and '.join(copies)}",
        device=device,
        module=kernel.fn.__module__,
        kernel=kernel.__name__,
        role=f"{source} {len(copies)}",
        types=tuple(types.items()),
        constants=tuple((known | constants).items()),
        warps=warps,
        stages=stages,
        options=tuple(options.items()),
    )


def described(argument: object) -> str:
    """Triton's type of a tensor or of its descriptor, which a kernel in Gluon has with a layout."""
    if isinstance(argument, torch.Tensor):
        return f"*{TYPES[argument.dtype]}"
    block = f"{TYPES[argument.base.dtype]}{list(argument.block_shape)}"
    return (
        f"tensordesc<{block},{argument.layout!r}>" if hasattr(argument, "layout") else f"tensordesc<{block}>"
    )
