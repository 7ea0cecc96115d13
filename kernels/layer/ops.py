"""Operators that torch knows: quantize, gemm, gemm_add_ and take_ of fp8_explorer.

They take tensors, strings and numbers alone, so that torch.compile takes them as they are. A copy is given as
its parts (kernels.layer.copies). They have no gradient: kernels.layer.linear has one.
"""

from collections.abc import Callable, Sequence

import torch

from fp8core.formats import FORMATS
from kernels.device import Unsupported, interpreting
from kernels.gemm import gemm
from kernels.gemm.launch import memory, torch_dtype
from kernels.layer.copies import Given, from_parts, part_shapes, parts_of
from kernels.layer.emulate import amax_of, emulated_copy, emulated_product
from kernels.layer.plan import PLACES, Reading, Step, readings, step
from kernels.quantize import QuantizedTensor, quantize, quantize_both

NAMESPACE = "fp8_explorer"
_LIBRARY = torch.library.Library(NAMESPACE, "DEF")
_TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order)
Parts = Sequence[Given]


def _quantize(
    x: torch.Tensor,
    recipe: str,
    tensor: str,
    matmuls: str,
    seeds: torch.Tensor | None = None,
    history: torch.Tensor | None = None,
    emulate: bool = False,
) -> list[torch.Tensor]:
    """The parts of the copies of x [rows, columns] that these matmuls read, one after the other.

    - tensor, matmuls: "x" and "fprop+wgrad", as the recipe reads it.
    - seeds: int64[PLACES], one for each operand of a step, where the recipe rounds at random.
    - history: float32[steps], the amax of earlier steps. This step's amax, float32[1], is then the last part.
    """
    if not emulate:
        parts: list[torch.Tensor] = []
        for each in quantize_now(x, recipe, tensor, matmuls, seeds, history):
            # An amax may lie within another tensor; Inductor wants results that start at 16 bytes.
            parts += parts_of(each) if isinstance(each, QuantizedTensor) else [each.clone()]
        return parts
    made = []
    for reading in readings(recipe, tensor, matmuls):
        seed = int(seed_of(seeds, reading)) if reading.is_random else None
        made.append(emulated_copy(x, reading.operand, seed, history))
    return made if history is None else [*made, amax_of(x)]


def quantize_now(
    x: torch.Tensor,
    recipe: str,
    tensor: str,
    matmuls: str,
    seeds: torch.Tensor | None = None,
    history: torch.Tensor | None = None,
    emulate: bool = False,
) -> list[Given]:
    """The copies themselves, which the operator gives in parts; of two, one read of x makes both.

    Kernels make them, so `emulate` is False.
    """
    require_kernels(x)
    found = readings(recipe, tensor, matmuls)
    own = [seed_of(seeds, each) if each.is_random else None for each in found]
    operands = [each.operand for each in found]
    made: list[Given] = []
    if len(found) > 1:
        made += quantize_both(x, *operands, seeds=own, history=history)
    else:
        made.append(quantize(x, *operands, seed=own[0], history=history))
    if history is not None:
        amax = made[-1].amax
        made.append(amax_of(x) if amax is None else amax.view(1))
    return made


def _quantize_shapes(
    x: torch.Tensor,
    recipe: str,
    tensor: str,
    matmuls: str,
    seeds: torch.Tensor | None = None,
    history: torch.Tensor | None = None,
    emulate: bool = False,
) -> list[torch.Tensor]:
    """What _quantize returns, with nothing in it."""
    made = []
    for reading in readings(recipe, tensor, matmuls):
        shape = (x.shape[0], x.shape[1])
        if emulate:
            made.append(x.new_empty(reading.operand.stored(shape), dtype=torch.float64))
        else:
            made += [x.new_empty(size, dtype=dtype) for size, dtype in part_shapes(reading.operand, shape)]
    if history is not None:
        made.append(x.new_empty((1,), dtype=torch.float32))
    return made


def gemm_now(
    a: Parts,
    b: Parts,
    k: int,
    recipe: str,
    matmul: str,
    emulate: bool = False,
    wanted: torch.dtype | None = None,
) -> torch.Tensor:
    """D[M, N] of a matmul, K = k. Each operand is given as a copy's parts, or in bf16 as it is stored.

    `wanted`: the dtype that D is needed in. It is in bf16 for that one, else as the recipe has it. Called
    without the operator, it takes a copy itself, too.
    """
    one = step(recipe, matmul, wanted is torch.bfloat16)
    if emulate:
        return emulated_product(*_emulated(one, a, b), torch_dtype(one.spec.out))
    require_kernels(memory(a[0]))
    return gemm(_operand(one.a, a, k), _operand(one.b, b, k), one.spec)


def _gemm_shape(
    a: Parts,
    b: Parts,
    k: int,
    recipe: str,
    matmul: str,
    emulate: bool = False,
    wanted: torch.dtype | None = None,
) -> torch.Tensor:
    """What gemm_now returns, with nothing in it."""
    one = step(recipe, matmul, wanted is torch.bfloat16)
    return a[0].new_empty((_mn(one.a, a), _mn(one.b, b)), dtype=torch_dtype(one.spec.out))


def gemm_add_now(
    out: torch.Tensor, a: Parts, b: Parts, k: int, recipe: str, matmul: str, emulate: bool = False
) -> None:
    """Add D[M, N] of a matmul into out, in fp32. The kernel adds where the recipe's D is fp32 itself."""
    one = step(recipe, matmul)
    if emulate or one.spec.out != FORMATS["fp32"]:
        out.add_(gemm_now(a, b, k, recipe, matmul, emulate))
        return
    require_kernels(out)
    gemm(_operand(one.a, a, k), _operand(one.b, b, k), one.spec, out=out, accumulate=True)


def _gemm_add_shape(
    out: torch.Tensor, a: Parts, b: Parts, k: int, recipe: str, matmul: str, emulate: bool = False
) -> None:
    """Nothing is returned."""


def take_now(seeds: torch.Tensor) -> torch.Tensor:
    """int64[PLACES]: this step's seeds. Those that are left in `seeds` are the next step's.

    One operator does both: torch.compile could make a copy and a sum later, in the way back, from seeds that
    have gone on by then.
    """
    now = seeds.clone()
    seeds.add_(PLACES)
    return now


def _operand(reading: Reading, parts: Parts, k: int) -> QuantizedTensor | torch.Tensor:
    """An operand as gemm takes it: quantized, or bf16 [mn, K]."""
    if isinstance(parts[0], QuantizedTensor):
        return parts[0]
    if reading.operand is not None:
        return from_parts(reading.operand, parts, k)
    return parts[0].T if reading.k_is_rows else parts[0]


def _emulated(one: Step, a: Parts, b: Parts) -> tuple[Parts, Parts]:
    """Both operands [mn, K]: an emulated copy lies so, one in bf16 may be stored the other way."""
    left, right = (
        [parts[0].T] if reading.operand is None and reading.k_is_rows else parts
        for reading, parts in ((one.a, a), (one.b, b))
    )
    return left, right


def _mn(reading: Reading, parts: Parts) -> int:
    """Rows of an operand [mn, K]."""
    return parts[0].shape[1 if reading.operand is None and reading.k_is_rows else 0]


def seed_of(seeds: torch.Tensor | None, reading: Reading) -> torch.Tensor:
    """int64[1]: the seed of a reading that is rounded at random. Raises ValueError where there are none."""
    if seeds is None:
        raise ValueError(
            f"{reading.matmul.operand(reading.side).value} of {reading.matmul.title} is rounded at random: "
            "it needs seeds, got none"
        )
    return seeds[reading.place : reading.place + 1]


def require_kernels(x: torch.Tensor) -> None:
    """Raise Unsupported where x lies on the CPU and no interpreter runs kernels there."""
    if not x.is_cuda and not interpreting():
        raise Unsupported(
            f"the kernels run on CUDA and this tensor lies on {x.device}: move it to the GPU, or compute by "
            "the reference's rules with emulate=True"
        )


def operator(schema: str, run: Callable[..., object], shapes: Callable[..., object]) -> torch._ops.OpOverload:
    """Define an operator: what it does on every device, and what it returns, for tensors without memory."""
    name = schema.partition("(")[0]
    _LIBRARY.define(schema, tags=_TAGS)
    _LIBRARY.impl(name, run, "CompositeExplicitAutograd")
    torch.library.register_fake(f"{NAMESPACE}::{name}", shapes, lib=_LIBRARY)
    return getattr(getattr(torch.ops, NAMESPACE), name).default


_REST = "SymInt k, str recipe, str matmul, bool emulate=False"
quantize_op = operator(
    "quantize(Tensor x, str recipe, str tensor, str matmuls, Tensor? seeds=None, Tensor? history=None, "
    "bool emulate=False) -> Tensor[]",
    _quantize,
    _quantize_shapes,
)
gemm_op = operator(
    f"gemm(Tensor[] a, Tensor[] b, {_REST}, ScalarType? wanted=None) -> Tensor", gemm_now, _gemm_shape
)
gemm_add_op = operator(
    f"gemm_add_(Tensor(a!) out, Tensor[] a, Tensor[] b, {_REST}) -> ()", gemm_add_now, _gemm_add_shape
)
take_op = operator("take_(Tensor(a!) seeds) -> Tensor", take_now, torch.empty_like)
