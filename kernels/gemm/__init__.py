"""Multiply two quantized operands: `gemm(a, b, plan)`, and `plan_gemm`, which decides how."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernels.gemm.launch import gemm
    from kernels.gemm.plan import GemmPlan, plan_gemm

__all__ = ["GemmPlan", "gemm", "plan_gemm"]

_HOMES = {"gemm": "launch", "GemmPlan": "plan", "plan_gemm": "plan"}


def __getattr__(name: str) -> object:
    """Load a public name at its first use: files of this folder import each other without a circle."""
    if name not in _HOMES:
        raise AttributeError(f"kernels.gemm has no {name!r}")
    from importlib import import_module

    return getattr(import_module(f"kernels.gemm.{_HOMES[name]}"), name)
