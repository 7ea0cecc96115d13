"""Operations of a layer's step (Calls): quantize, swiglu and multiply.

KERNELS compute on a GPU. EMULATED follows the reference's rules: fp8core quantizes, and exact numbers, one
float64 tensor a copy, are multiplied in fp64. Only the sums then differ from the kernels'. SHAPES and
EMULATED_SHAPES allocate such results and compute nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch

from fp8core import fused as reference
from fp8core.formats import FORMATS
from fp8core.quantize import QuantizedTensor as ReferenceTensor
from fp8core.quantize import quantize as reference_quantize
from fp8core.quantize import random_of
from fp8core.recipes import MatmulSpec, Operand
from fp8core.tiles import WHOLE, Extent, TileShape
from kernels import gemm as gemm_kernels
from kernels import quantize as quantizers
from kernels.device import Unsupported, compiles_only, interpreting
from kernels.gemm.launch import torch_dtype
from kernels.launching.launch import operation
from kernels.layer.plan import LayerPlan, Product, Reading
from kernels.quantize import QuantizedTensor, swiglu_backward_quantize, swiglu_quantize
from kernels.quantize.facts import K_PADDING, stores_bytes

Parts = list[torch.Tensor]
"""Tensors of a copy, all contiguous, or one tensor in bf16.

    codes        uint8[mn, bytes of K, with zeros up to a multiple of K_PADDING codes]
    scales       [k_tiles, mn_tiles], uint8 or float32
    outer scales float32[outer k_tiles, outer mn_tiles], if the rule has two levels
"""


def _empty_parts(operand: Operand, like: torch.Tensor, shape: Sequence[int]) -> Parts:
    """Uninitialized parts. `shape`: [rows, columns], symbolic under torch.compile."""
    mn, k = operand.stored(shape)
    rule = operand.spec.scale_rule

    def scales(tile: TileShape, dtype: torch.dtype) -> torch.Tensor:
        return like.new_empty((_tiles(k, tile.k), _tiles(mn, tile.mn)), dtype=dtype)

    row = -(-k // K_PADDING) * (K_PADDING * operand.spec.format.packed_bits // 8)
    codes = like.new_empty((mn, row), dtype=torch.uint8)
    parts = [codes, scales(operand.spec.tile, torch.uint8 if stores_bytes(rule) else torch.float32)]
    return parts if rule.outer is None else [*parts, scales(rule.outer.tile, torch.float32)]


def _tiles(size: int, extent: Extent) -> int:
    if extent is WHOLE:
        return 1 if size > 0 else 0
    return -(-size // extent)


def _parts_of(copy: QuantizedTensor) -> Parts:
    codes, *scales = copy.tensors
    if codes.numel():
        codes = copy.operand_bytes
    else:
        codes = _empty_parts(copy.operand, codes, copy.shape)[0]
    return [codes, *(scale if copy.operand.k_is_rows else scale.T for scale in scales)]


def from_parts(operand: Operand, parts: Parts, k: int) -> QuantizedTensor:
    return QuantizedTensor.of(operand, parts[0], parts[1], k, *parts[2:])


Seeds = torch.Tensor | None
"""int64[PLACES], if the recipe rounds at random."""


class Calls(NamedTuple):
    """Operations of a step.

    - quantize(x, readings, seeds): a copy of x for each reading.
    - swiglu(gate_up, dh, readings, seeds): copies of h = silu(gate) · up, or, with a dh [tokens, hidden], of
      gate_up's gradient; bf16 for a reading in bf16. gate_up is bfloat16[tokens, 2 · hidden], gate first.
    - multiply(a, b, k, product, dtype, out): D[M, N] in bf16 if `dtype` is bf16, else in the recipe's dtype,
      or added into `out`, float32.
    """

    quantize: Callable[..., list[Parts]]
    swiglu: Callable[..., list[Parts]]
    multiply: Callable[..., torch.Tensor]


def _quantize(x: torch.Tensor, readings: Sequence[Reading], seeds: Seeds) -> list[Parts]:
    _require_kernels(x)
    operands, own = [each.operand for each in readings], [_seed(seeds, each) for each in readings]
    if len(readings) > 1:
        return [_parts_of(each) for each in quantizers.quantize_both(x, *operands, seeds=own)]
    return [_parts_of(quantizers.quantize(x, *operands, seed=own[0]))]


def _swiglu(
    gate_up: torch.Tensor, dh: torch.Tensor | None, readings: Sequence[Reading], seeds: Seeds
) -> list[Parts]:
    _require_kernels(gate_up)
    operands, own = [each.operand for each in readings], [_seed(seeds, each) for each in readings]
    if dh is None:
        copies = swiglu_quantize(gate_up, operands, seeds=own)
    else:
        copies = swiglu_backward_quantize(dh, gate_up, operands, seeds=own)
    return [_parts_of(each) if isinstance(each, QuantizedTensor) else [each] for each in copies]


def _multiply(
    a: Parts, b: Parts, k: int, product: Product, dtype: torch.dtype | None, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Only a GEMM with an fp32 D adds into out in its kernel."""
    _require_kernels(a[0])
    operands = _operand(product.a, a, k), _operand(product.b, b, k)
    if out is None:
        return gemm_kernels.gemm(*operands, _spec(product, dtype))
    if product.spec.out != FORMATS["fp32"]:
        operation(torch.Tensor.add_, out, gemm_kernels.gemm(*operands, product.spec))
        return out
    return gemm_kernels.gemm(*operands, product.spec, out=out, accumulate=True)


def _spec(product: Product, dtype: torch.dtype | None) -> MatmulSpec:
    return product.bf16_spec if dtype is torch.bfloat16 else product.spec


def _operand(reading: Reading, parts: Parts, k: int) -> QuantizedTensor | torch.Tensor:
    if reading.operand is not None:
        return from_parts(reading.operand, parts, k)
    return mn_first(reading, parts)


def mn_first(reading: Reading, parts: Parts) -> torch.Tensor:
    """Codes, emulated numbers or bf16 of an operand, with mn as the first dim."""
    return parts[0].T if reading.operand is None and reading.k_is_rows else parts[0]


def _require_kernels(x: torch.Tensor) -> None:
    """Raise Unsupported for a CPU tensor unless Triton interprets."""
    if not (x.is_cuda or interpreting() or compiles_only()):
        raise Unsupported(
            f"the kernels run on CUDA and this tensor lies on {x.device}: move it to the GPU, or compute by "
            "the reference's rules with emulate=True"
        )


def _seed(seeds: Seeds, reading: Reading) -> torch.Tensor | None:
    return seeds[reading.place : reading.place + 1] if reading.is_random else None


def _emulated_quantize(x: torch.Tensor, readings: Sequence[Reading], seeds: Seeds) -> list[Parts]:
    return [[_emulated_copy(x, each, seeds)] for each in readings]


def _emulated_swiglu(
    gate_up: torch.Tensor, dh: torch.Tensor | None, readings: Sequence[Reading], seeds: Seeds
) -> list[Parts]:
    inputs = [_as_numpy(each) for each in (dh, gate_up) if each is not None]
    numbers = reference.swiglu(*inputs) if dh is None else reference.swiglu_backward(*inputs)
    h = torch.from_numpy(numbers).to(gate_up.device, torch.bfloat16)
    return [[h.clone() if each.operand is None else _emulated_copy(h, each, seeds)] for each in readings]


def _emulated_multiply(
    a: Parts, b: Parts, k: int, product: Product, dtype: torch.dtype | None, out: torch.Tensor | None = None
) -> torch.Tensor:
    left, right = mn_first(product.a, a).double(), mn_first(product.b, b).double()
    result = (left @ right.T).float().to(torch_dtype(_spec(product, dtype).out))
    return result if out is None else out.add_(result)


def _emulated_copy(x: torch.Tensor, reading: Reading, seeds: Seeds) -> torch.Tensor:
    """float64[mn, K]: code · scale."""
    result = emulated(x, reading, _seed(seeds, reading)).exact_values()
    return torch.from_numpy(np.ascontiguousarray(result.T if reading.k_is_rows else result)).to(x.device)


def emulated(x: torch.Tensor, reading: Reading, seed: torch.Tensor | None) -> ReferenceTensor:
    operand, stored, random = reading.operand, _as_numpy(x), None
    assert operand is not None, "a reading in bf16 has no copy"
    if seed is not None:
        random = random_of(operand, stored.shape, int(seed))
    with np.errstate(all="ignore"):
        return reference_quantize(stored, operand, random=random)


def _as_numpy(x: torch.Tensor) -> np.ndarray:
    """A copy in float32: a numpy view would pin the storage of a parameter."""
    return x.detach().to("cpu", torch.float32, copy=True).numpy()


def _shapes(is_emulated: bool) -> Calls:

    def copy(x: torch.Tensor, shape: Sequence[int], reading: Reading) -> Parts:
        if reading.operand is None:
            return [x.new_empty(shape, dtype=torch.bfloat16)]
        if is_emulated:
            return [x.new_empty(reading.operand.stored(shape), dtype=torch.float64)]
        return _empty_parts(reading.operand, x, shape)

    def quantize(x: torch.Tensor, readings: Sequence[Reading], seeds: Seeds) -> list[Parts]:
        return [copy(x, x.shape, each) for each in readings]

    def swiglu(
        gate_up: torch.Tensor, dh: torch.Tensor | None, readings: Sequence[Reading], seeds: Seeds
    ) -> list[Parts]:
        tokens, columns = gate_up.shape
        shape = (tokens, columns // 2 if dh is None else columns)
        return [copy(gate_up, shape, each) for each in readings]

    def multiply(
        a: Parts, b: Parts, k: int, product: Product, dtype: torch.dtype, out: torch.Tensor | None = None
    ) -> torch.Tensor:
        m, n = mn_first(product.a, a).shape[0], mn_first(product.b, b).shape[0]
        return a[0].new_empty((m, n), dtype=dtype)

    return Calls(quantize, swiglu, multiply)


KERNELS = Calls(_quantize, _swiglu, _multiply)
EMULATED = Calls(_emulated_quantize, _emulated_swiglu, _emulated_multiply)
SHAPES, EMULATED_SHAPES = _shapes(False), _shapes(True)
_observer: Callable[[Calls], Calls] | None = None


def shapes_of(plan: LayerPlan) -> Calls:
    return EMULATED_SHAPES if plan.emulate else SHAPES


def calls_of(plan: LayerPlan) -> Calls:
    calls = EMULATED if plan.emulate else KERNELS
    return calls if _observer is None else _observer(calls)


@contextmanager
def observed(observer: Callable[[Calls], Calls]) -> Iterator[None]:
    """Have layers call `observer(calls)` in place of their calls, without cached launches."""
    global _observer
    _observer = observer
    try:
        yield
    finally:
        _observer = None
