"""Front doors of the quantizers: from tensors to codes and scales, the bits of fp8core.quantize.

The first call for a layout validates, chooses blocks and launches. Later calls repeat its launches.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from fp8core.checks import whole
from fp8core.fused.rms_norm import MOST_COLUMNS
from fp8core.philox import MAX_SEED
from fp8core.quantize import operand_of
from fp8core.recipes import Operand, OperandSpec
from fp8core.tiles import TileGrid, TileShape
from kernels.device import DeviceKind, compiles_only, current_device, launch_context
from kernels.launching.cache import LaunchCache, layout_key, refuse_gradient, scalar_kind, token
from kernels.launching.parameters import Scalar
from kernels.quantize.facts import TENSOR, check_operand, fp32_bits
from kernels.quantize.launch import (
    Copy,
    Source,
    empty_result,
    quantize_computed,
    quantize_x,
)
from kernels.quantize.plan import stores_result, whole_amax_of
from kernels.quantize.tensor import QuantizedTensor

if TYPE_CHECKING:
    import torch

LAUNCHES = LaunchCache()
Seed = "int | torch.Tensor | None"


def quantize(
    x: "torch.Tensor",
    grid: TileGrid | Operand,
    spec: OperandSpec | None = None,
    *,
    k_is_rows: bool | None = None,
    seed: Seed = None,
    history: "torch.Tensor | None" = None,
) -> QuantizedTensor:
    """Quantize x: bfloat16, float16 or float32 [rows, columns], any strides, as an operand of a matmul.

    `grid` is a recipe's Operand, or a TileGrid over x that takes a `spec`. `k_is_rows` is True if the matmul
    contracts over the rows of x: codes then run down the columns. Default: the value that makes the grid's
    tiles those of the spec, and False if both do.

    - seed: of the random bits of stochastic rounding, fp8core.philox.random_bits((mn, K), seed). The kernel
      reads a tensor int64[1] on x's device when it runs: each replay of a graph reads it anew.
    - history: float32[steps], finite amax of earlier steps on x's device, oldest first, for a delayed scale.
      One pass then writes codes and this step's amax. Without it, or if it is all zero, x's own amax counts.

    Raises ValueError for another dtype, shape or device, for a missing or useless seed or history, and for an
    x that requires grad while autograd is on; NoTriton; Unsupported for a spec without a kernel.
    """
    refuse_gradient("quantize", x=x)
    if isinstance(grid, TileGrid) and isinstance(spec, OperandSpec):
        operand = _operand_over(grid, spec)
    else:
        operand = operand_of(grid, spec)
    if k_is_rows is not None and k_is_rows != operand.k_is_rows:
        operand = _turned(operand)
    if isinstance(grid, TileGrid) and x.shape != grid.shape:
        raise ValueError(f"this grid lies over a tensor of shape {grid.shape}, got {tuple(x.shape)}")
    return _copies("", (x,), (operand,), (seed,), history)[0]


_operand_over = lru_cache(operand_of)
"""A grid's operand, once: a spec of its own takes longer to look up than a launch."""


@lru_cache
def _turned(operand: Operand) -> Operand:
    tile = TileShape(operand.spec.tile.k, operand.spec.tile.mn)
    return Operand(spec=replace(operand.spec, tile=tile), k_is_rows=not operand.k_is_rows)


def quantize_both(
    x: "torch.Tensor",
    first: Operand,
    second: Operand,
    *,
    seeds: Sequence[Seed] | None = None,
    history: "torch.Tensor | None" = None,
) -> tuple[QuantizedTensor, QuantizedTensor]:
    """Quantize x [rows, columns] as two operands: the bits of `quantize(x, first)` and `quantize(x, second)`.

    One kernel reads x once and writes both, if K of one runs along the rows and K of the other down the
    columns. An earlier pass collects the amax of more than a block, once if both need the same.

    seeds, history and errors: as for `quantize`, a seed or None for each operand.
    """
    refuse_gradient("quantize_both", x=x)
    return _copies("", (x,), (first, second), seeds, history)


def swiglu_quantize(
    gate_up: "torch.Tensor",
    operands: Sequence[Operand | None],
    *,
    seeds: Sequence[Seed] | None = None,
    history: "torch.Tensor | None" = None,
) -> "tuple[Copy, ...]":
    """Copies of SiLU(gate) · up, [tokens, inner], one for each operand: the bits of `quantize` of it in bf16.

    gate_up: bfloat16[tokens, 2 · inner], the gate in the first half of each row. The copy of an operand that
    is None stays bfloat16. history: amax of earlier steps of the result. seeds, history and errors: as for
    `quantize`, a seed or None for each operand; also ValueError for other tensors.
    """
    refuse_gradient("swiglu_quantize", gate_up=gate_up)
    _check_halves(gate_up)
    return _copies("swiglu", (gate_up,), operands, seeds, history)


def swiglu_backward_quantize(
    dh: "torch.Tensor",
    gate_up: "torch.Tensor",
    operands: Sequence[Operand | None],
    *,
    seeds: Sequence[Seed] | None = None,
    history: "torch.Tensor | None" = None,
) -> "tuple[Copy, ...]":
    """Copies of the gradient of gate_up, [tokens, 2 · inner], as `swiglu_quantize` gives those of SwiGLU.

    dh: bfloat16[tokens, inner], the gradient of SwiGLU.
    """
    refuse_gradient("swiglu_backward_quantize", dh=dh, gate_up=gate_up)
    _check_halves(gate_up)
    _check_matrix("dh", dh)
    shape = (gate_up.shape[0], gate_up.shape[1] // 2)
    if tuple(dh.shape) != shape or dh.device != gate_up.device:
        raise ValueError(
            f"dh has the shape of SwiGLU, {shape} on {gate_up.device}, got {tuple(dh.shape)} on {dh.device}"
        )
    return _copies("swiglu backward", (gate_up, dh), operands, seeds, history)


def rms_norm_quantize(
    x: "torch.Tensor",
    weight: "torch.Tensor",
    operands: Sequence[Operand | None],
    *,
    eps: float,
    seeds: Sequence[Seed] | None = None,
    history: "torch.Tensor | None" = None,
) -> "tuple[Copy, ...]":
    """Copies of x over its rows' root mean square, times weight: the bits of `quantize` of it in bf16.

    x: bfloat16[tokens, columns]; weight: bfloat16 or float32[columns]; eps is added to the mean square.
    operands, seeds, history and errors: as for `swiglu_quantize`.
    """
    import torch

    refuse_gradient("rms_norm_quantize", x=x, weight=weight)
    _check_matrix("x", x)
    if not 0 < x.shape[1] <= MOST_COLUMNS:
        raise ValueError(f"a norm is over 1 to {MOST_COLUMNS:,} columns, got {x.shape[1]}")
    fits = weight.dtype in (torch.bfloat16, torch.float32) and weight.is_contiguous()
    if not fits or weight.shape != x.shape[1:] or weight.device != x.device:
        raise ValueError(
            f"the weight is bfloat16 or float32 [{x.shape[1]}] on {x.device}, got "
            f"{weight.dtype} {list(weight.shape)} on {weight.device}"
        )
    return _copies("rms norm", (x, weight), operands, seeds, history, eps=fp32_bits(eps))


def _copies(
    name: str,
    inputs: "tuple[torch.Tensor, ...]",
    operands: Sequence[Operand | None],
    seeds: Sequence[Seed] | None,
    history: "torch.Tensor | None",
    *,
    eps: int = 0,
    amax: "torch.Tensor | None" = None,
    adds_amax: bool = False,
) -> "tuple[Copy, ...]":
    """Copies of the result of a Source: from one launch if it can write them all, else by `_unfused`.

    adds_amax: int32[PARTIALS] follows a computed result; the largest of it is the bits of the result's amax.
    """
    operands, seeds = tuple(operands), [None] * len(operands) if seeds is None else list(seeds)
    if len(seeds) != len(operands):
        raise ValueError(f"each of {len(operands)} operands has a seed or None, got {len(seeds)}")
    parts: list[Hashable] = [name, eps, adds_amax, *map(layout_key, inputs)]
    scalars: list[Scalar] = []
    tensors = [*inputs]
    for each in (amax, history):
        parts.append(layout_key(each))
        if each is not None:
            tensors.append(each)
    for number, operand in enumerate(operands):
        parts += (None,) if operand is None else (token(operand.spec), operand.k_is_rows)
        seed = seeds[number]
        if seed is not None:
            if not hasattr(seed, "data_ptr"):
                seeds[number] = seed = Scalar(whole("a seed", seed, 0, MAX_SEED))
            (scalars if isinstance(seed, Scalar) else tensors).append(seed)
            parts.append(scalar_kind(seed))
    key = tuple(parts)
    launches = LAUNCHES.get(key)
    if launches is not None:
        return launches(tensors, scalars)
    source = Source(inputs[0], name, *inputs[1:], eps=eps, amax=amax)
    _check_history(operands, history, source.x)
    if name:
        plan = source.plan(operands) if source.x.numel() else None
        if plan is None or stores_result(operands, plan, source.reads):
            return _unfused(source, operands, seeds, history)

    def run() -> "tuple[Copy, ...]":
        with launch_context(source.x):
            for operand, seed in zip(operands, seeds, strict=True):
                if operand is not None:
                    _check_tensor(source.x, operand, seed)
            check_device(source.x, current_device().kind, "x")
            if name:
                return quantize_computed(source, operands, seeds, history, adds_amax=adds_amax)
            return quantize_x(source, operands, seeds, history)

    return LAUNCHES.trace(key, tensors, scalars, run)


def _unfused(
    source: Source,
    operands: "tuple[Operand | None, ...]",
    seeds: "Sequence[Scalar | torch.Tensor | None]",
    history: "torch.Tensor | None",
) -> "tuple[Copy, ...]":
    """The result in bf16, and `quantize` of that; two copies come from one read of it if they can."""
    two = len(operands) == 2 and None not in operands
    adds_amax = two and not source.is_norm and history is None
    adds_amax = adds_amax and all(
        whole_amax_of(each.spec, fits_block=each.spec.tile != TENSOR) and not each.spec.scale_rule.history
        for each in operands
    )
    if source.x.numel():
        result, *amax = _copies(
            source.name, source.tensors, [None], None, None, eps=source.eps, adds_amax=adds_amax
        )
    else:
        result, amax = empty_result(source), []
    if two:
        return _copies("", (result,), operands, seeds, history, amax=amax[0] if amax else None)
    copies = [result] * len(operands)
    for number, operand in enumerate(operands):
        if operand is not None:
            own = history if operand.spec.scale_rule.history else None
            copies[number] = quantize(result, operand, seed=seeds[number], history=own)
    return tuple(copies)


def _check_tensor(x: "torch.Tensor", operand: Operand, seed: "Scalar | torch.Tensor | None") -> None:
    import torch

    if (reason := check_operand(operand.spec)) is not None:
        raise reason
    if x.dtype not in (torch.bfloat16, torch.float16, torch.float32):
        raise ValueError(f"quantize takes bfloat16, float16 or float32, got {x.dtype}")
    if x.ndim != 2:
        raise ValueError(f"quantize takes a tensor [rows, columns], got {x.ndim} dims")
    if operand.spec.is_random != (seed is not None):
        need = "needs a seed" if operand.spec.is_random else "takes no seed"
        raise ValueError(f"rounding {operand.spec.rounding.value} {need}, got {seed}")
    if isinstance(seed, torch.Tensor) and (
        seed.dtype != torch.int64 or seed.numel() != 1 or seed.device != x.device
    ):
        raise ValueError(
            f"a seed in memory is one int64 on {x.device}, got {seed.numel()} of {seed.dtype} on "
            f"{seed.device}"
        )


def check_device(x: "torch.Tensor", kind: DeviceKind, name: str) -> None:
    need = "cuda" if kind is DeviceKind.GPU and not compiles_only() else "cpu"
    if x.device.type != need:
        raise ValueError(f"{name} lies on {x.device}, and the kernels here run on {need} ({kind.value})")


def _check_history(
    operands: Sequence[Operand | None], history: "torch.Tensor | None", x: "torch.Tensor"
) -> None:
    import torch

    if history is None:
        return
    if not any(each and each.spec.scale_rule.history for each in operands):
        rules = "this rule takes" if len(operands) == 1 else "these rules take"
        raise ValueError(f"{rules} the tensor's own amax, got a history")
    if history.ndim != 1 or history.dtype != torch.float32 or history.device != x.device:
        raise ValueError(
            f"a history is float32[steps] on {x.device}, got {history.dtype} of {history.ndim} dims on "
            f"{history.device}"
        )


def _check_matrix(name: str, x: "torch.Tensor") -> None:
    import torch

    if x.dtype != torch.bfloat16 or x.ndim != 2:
        raise ValueError(f"{name} is bfloat16 [rows, columns], got {x.dtype} of {x.ndim} dims")
    if x.stride(1) != 1 and x.numel() and x.shape[1] > 1:
        raise ValueError(f"neighbors in a row of {name} lie side by side, got strides {tuple(x.stride())}")


def _check_halves(gate_up: "torch.Tensor") -> None:
    _check_matrix("gate_up", gate_up)
    if gate_up.shape[1] % 2:
        raise ValueError(f"gate_up has two halves of one width, got {gate_up.shape[1]} columns")
