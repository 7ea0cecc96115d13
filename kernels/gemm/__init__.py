"""GEMMs of quantized operands. Read simple/kernel.py first, hopper/kernel.py second, then plan.py.

| file | has |
|---|---|
| simple/ | kernels in `tl` |
| hopper/ | warp-specialized kernels in Gluon |
| blackwell.py | the block-scaled kernel, only compiled; block_scaled.py: its operands |
| plan.py | plan_gemm: from a matmul, a shape and a device to a GemmPlan |
| numerics.py | formats, scales and promotion of a plan |
| variants.py | the kernel variants, one entry each |
| blocks.py | block sizes, splits and stages of a launch |
| choose.py | the fastest blocks: measured (tuned.py), else by a model (cost.py) |
| launch.py | gemm: check operands, run passes/, launch the plan's variant |
| factor.py, workspace.py | an operand after the passes; memory of split-K |
"""

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
