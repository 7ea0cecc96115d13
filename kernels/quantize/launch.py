"""The device quantizer: from a torch tensor to the codes and scales of fp8core.quantize, bit for bit."""

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

from fp8core.quantize import operand_of
from fp8core.recipes import Operand, OperandSpec
from fp8core.tiles import TileGrid, TileShape
from kernels.device import DeviceKind, compiles_only, current_device, launching
from kernels.launching.gradients import refuse_gradient
from kernels.launching.parameters import Word
from kernels.launching.tokens import layout, token, word_kind
from kernels.launching.warm import Done, Warm
from kernels.quantize.meeting import meeting_programs, plan_meeting
from kernels.quantize.plan import check_operand, plan_quantize
from kernels.quantize.tensor import QuantizedTensor
from kernels.quantize.work import Amax, Work
from kernels.strips.launch import launch_panels, lies_in_words
from kernels.strips.plan import panel_rows

if TYPE_CHECKING:
    import torch

TAPES = Warm()
"""What calls of `quantize` left, by the operand and the layout of x."""


def quantize(
    x: "torch.Tensor",
    grid: TileGrid | Operand,
    spec: OperandSpec | None = None,
    *,
    k_is_rows: bool | None = None,
    seed: "int | torch.Tensor | None" = None,
    history: "torch.Tensor | None" = None,
) -> QuantizedTensor:
    """Quantize x: bfloat16, float16 or float32 [rows, columns], any strides, as an operand of a matmul.

    A recipe has the operand. A `grid` and a `spec` say the same, together with `k_is_rows`: True where the
    matmul contracts over the rows of x, so that codes are laid down the columns. Left out, it is what makes
    the grid's tiles those of the spec, and False where both do.

    - seed: of the random bits of stochastic rounding, those of fp8core.philox.random_bits((mn, K), seed). A
      tensor int64[1] on x's device is read when the kernel runs: each replay of a graph finds today's seed.
    - history: float32[steps], finite amax of earlier steps on x's device, oldest first, for a delayed scale.
      One pass then writes codes and this step's amax. Left out, or all zero, x's own amax counts.

    Raises ValueError for another dtype, shape or device, and for a seed or a history that is missing or of no
    use; for an x that requires grad while autograd is on; NoTriton; Unsupported for a spec without a kernel.
    """
    refuse_gradient("quantize", x=x)
    if seed is None and history is None:
        asked, given, words = (_asked(grid, spec), k_is_rows, layout(x)), (x,), ()
    else:
        seed = Word(seed) if isinstance(seed, int) else seed
        words = (seed,) if isinstance(seed, Word) else ()
        given = tuple(each for each in (x, history, None if words else seed) if each is not None)
        asked = _asked(grid, spec), k_is_rows, layout(x), layout(history), word_kind(seed)
    tape = TAPES.get(asked)
    if tape is not None:
        return tape(given, words)

    def run() -> Done[QuantizedTensor]:
        with launching(x):
            made = _quantize(x, grid, spec, k_is_rows, seed, history)
        return Done(value=made, results=made.made, finish=made.like())

    return TAPES.record(asked, given, words, run)


def _asked(grid: TileGrid | Operand, spec: OperandSpec | None) -> Hashable:
    """Equal for operands that mean the same."""
    if isinstance(grid, Operand):
        return token(grid.spec), grid.k_is_rows, spec is None
    operand_of(grid, spec)
    return grid, token(spec)


def _quantize(
    x: "torch.Tensor",
    grid: TileGrid | Operand,
    spec: OperandSpec | None,
    k_is_rows: bool | None,
    seed: "Word | torch.Tensor | None",
    history: "torch.Tensor | None",
) -> QuantizedTensor:
    """Quantize, as nobody has yet: check everything, plan, and launch."""
    operand = operand_of(grid, spec)
    if k_is_rows is not None and k_is_rows != operand.k_is_rows:
        turned = TileShape(operand.spec.tile.k, operand.spec.tile.mn)
        operand = Operand(spec=replace(operand.spec, tile=turned), k_is_rows=k_is_rows)
    check_tensor(x, grid.shape if isinstance(grid, TileGrid) else None, operand, seed, history)
    return quantize_now(x, operand, seed, history)


def quantize_now(
    x: "torch.Tensor",
    operand: Operand,
    seed: "Word | torch.Tensor | None",
    history: "torch.Tensor | None",
) -> QuantizedTensor:
    """Plan for a tensor that was checked, and launch."""
    kind = current_device().kind
    if kind is DeviceKind.INTERPRETER:
        x = x.float()  # its loads of bfloat16 are not to be trusted; the values are the same
    shape = operand.stored((x.shape[0], x.shape[1]))
    rows = panel_rows(operand.spec, *shape, current_device())
    if rows and lies_in_words(x if operand.k_is_rows else x.T):
        work = Work(
            operand=operand,
            plan=plan_quantize(operand.spec, *shape, side_by_side=False),
            x=x,
            kind=kind,
            seed=None,
            history=None,
        )
        launch_panels(work, rows)
        return work.result(Amax())
    along_k = operand.stored((x.stride(0), x.stride(1)))[1]
    programs = meeting_programs(current_device())
    plan = plan_meeting(operand.spec, *shape, programs, side_by_side=along_k == 1)
    plan = plan or plan_quantize(operand.spec, *shape, side_by_side=along_k == 1)
    if operand.saved is not None and plan.saved is None:
        x = quantize_now(x, operand.saved, None, None).values()
    return Work(operand=operand, plan=plan, x=x, kind=kind, seed=seed, history=history).run()


def check_tensor(
    x: "torch.Tensor",
    shape: tuple[int, int] | None,
    operand: Operand,
    seed: "Word | torch.Tensor | None",
    history: "torch.Tensor | None",
) -> None:
    """Raise Unsupported for an operand without a kernel, ValueError for what does not go together.

    shape: that of the grid that the operand comes from, if any.
    """
    import torch

    reason = check_operand(operand.spec)
    if reason is not None:
        raise reason
    if x.dtype not in (torch.bfloat16, torch.float16, torch.float32):
        raise ValueError(
            f"quantize takes bfloat16, float16 or float32, got {str(x.dtype).removeprefix('torch.')}"
        )
    if x.ndim != 2:
        raise ValueError(f"quantize takes a tensor [rows, columns], got {x.ndim} dims")
    if shape is not None and tuple(x.shape) != shape:
        raise ValueError(f"this grid lies over a tensor of shape {shape}, got {tuple(x.shape)}")
    if operand.spec.is_random != (seed is not None):
        need = "needs a seed" if operand.spec.is_random else "takes no seed"
        raise ValueError(f"rounding {operand.spec.rounding.value} {need}, got {seed}")
    if isinstance(seed, torch.Tensor) and (
        seed.dtype != torch.int64 or seed.numel() != 1 or seed.device != x.device
    ):
        raise ValueError(
            f"a seed in memory is one int64 on {x.device}, got {seed.numel()} of "
            f"{str(seed.dtype).removeprefix('torch.')} on {seed.device}"
        )
    if history is not None and not operand.spec.scale_rule.history:
        raise ValueError("this rule takes the tensor's own amax, got a history")
    check_place(x, current_device().kind, "x")


def check_place(x: "torch.Tensor", kind: DeviceKind, name: str) -> None:
    """Raise ValueError unless x lies where this process's kernels run."""
    need = "cuda" if kind is DeviceKind.GPU and not compiles_only() else "cpu"
    if x.device.type != need:
        raise ValueError(f"{name} lies on {x.device}, and the kernels here run on {need} ({kind.value})")
