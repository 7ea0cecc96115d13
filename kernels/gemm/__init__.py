"""Quantize two operands and multiply them: `gemm(a, b, plan)`, and `plan_gemm`, which decides how."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernels.gemm.launch import gemm
    from kernels.gemm.plan import GemmPlan, plan_gemm
    from kernels.quantize import quantize

__all__ = ["GemmPlan", "gemm", "plan_gemm", "quantize"]

_HOMES = {
    "gemm": "kernels.gemm.launch",
    "GemmPlan": "kernels.gemm.plan",
    "plan_gemm": "kernels.gemm.plan",
    "quantize": "kernels.quantize",
}


def __getattr__(name: str) -> object:
    """Load a public name at its first use: files of this folder import each other without a circle."""
    if name not in _HOMES:
        raise AttributeError(f"kernels.gemm has no {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
