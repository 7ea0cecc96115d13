"""Host time of eager calls: microseconds that Python and the driver take before the GPU has its work.

A call is timed by the host's clock and does not wait for the GPU. The queue is kept short: every few calls
the GPU finishes what it has. The shape is tiny, so that the GPU is never what a call waits for.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from statistics import median, quantiles
from time import perf_counter_ns
from typing import TYPE_CHECKING

from fp8core.linear import MATMULS, LayerShape, Side
from fp8core.recipes import RECIPES, Operand, Recipe
from kernels.device import DeviceKind, Unsupported, current_device

if TYPE_CHECKING:
    import torch

    from kernels.quantize import QuantizedTensor

SHAPE = LayerShape(tokens=256, in_=512, out=256)
_BATCHES, _CALLS, _WARM_UP = 60, 20, 5
_FIFTHS = 5
_NS_A_US = 1e3

Call = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class HostTime:
    """Host microseconds of one call: the median, and the times under which a fifth and four fifths lie.

    `other_us` is the median of torch's own call of the kind, 0 where it has none.
    """

    recipe: str
    what: str
    median_us: float
    p20_us: float
    p80_us: float
    other: str = ""
    other_us: float = 0.0


_COLUMNS = (("recipe", 18), ("call", 28), ("µs", 8), ("p20", 8), ("p80", 8))
HEADER = "".join(name.ljust(width) for name, width in _COLUMNS) + "torch's"


def line(found: HostTime) -> str:
    """A line of the table: a call, its host time, and torch's call of the kind."""
    cells = (found.recipe, found.what, *(f"{us:.1f}" for us in (found.median_us, found.p20_us, found.p80_us)))
    text = "".join(cell.ljust(width) for cell, (_, width) in zip(cells, _COLUMNS, strict=True))
    return f"{text}{found.other_us:.1f} {found.other}" if found.other else text.rstrip()


def require_gpu() -> None:
    """Raise Unsupported where calls wait for what they compute."""
    device = current_device()
    if device.kind is not DeviceKind.GPU:
        raise Unsupported(
            f"--eager times calls that do not wait for a GPU, and {device.name} runs a kernel within the call"
        )


def host_times(recipes: Sequence[str], matmuls: Sequence[str]) -> Iterator[HostTime]:
    """Time quantize and gemm of each recipe and matmul, and a layer's step; torch's calls beside them."""
    product, step = _torch_product(), _torch_step()
    for name in recipes:
        recipe = RECIPES[name]
        for matmul in matmuls:
            for what, call in _calls(recipe, matmul):
                other = "torch._scaled_mm" if what.startswith("gemm") else ""
                yield _timed(name, f"{what} {matmul}", call, other, product if other else None)
        if find_spec("kernels.layer") is not None:
            yield _timed(name, "layer, forward + backward", _our_step(recipe), "torch.nn.Linear", step)


def _timed(recipe: str, what: str, call: Call, other: str, others: Call | None) -> HostTime:
    """Time a call in turns with torch's."""
    ours, theirs = _times_us([call, *([] if others is None else [others])])
    low, *_, high = quantiles(ours, n=_FIFTHS)
    return HostTime(
        recipe=recipe,
        what=what,
        median_us=median(ours),
        p20_us=low,
        p80_us=high,
        other=other,
        other_us=median(theirs) if theirs else 0.0,
    )


def _times_us(calls: Sequence[Call]) -> tuple[list[float], list[float]]:
    """Host microseconds of each call of the first, and of the second if there is one."""
    import torch

    times: tuple[list[float], list[float]] = ([], [])
    for batch in range(_WARM_UP + _BATCHES):
        for call, kept in zip(calls, times, strict=False):
            torch.cuda.synchronize()
            for _ in range(_CALLS):
                start = perf_counter_ns()
                call()
                end = perf_counter_ns()
                if batch >= _WARM_UP:
                    kept.append((end - start) / _NS_A_US)
    torch.cuda.synchronize()
    return times


def _calls(recipe: Recipe, matmul: str) -> Iterator[tuple[str, Call]]:
    """Quantize A, quantize B, multiply; an operand that stays bf16 is not quantized."""
    import torch

    from kernels.gemm import gemm
    from kernels.quantize import quantize

    asked = MATMULS[matmul]
    m, n, k = asked.mnk(SHAPE)
    given, seeds = [], count()
    for side, mn in ((Side.A, m), (Side.B, n)):
        operand = recipe.operand(asked, side)
        if operand is None:
            given.append(torch.randn((mn, k), device="cuda", dtype=torch.bfloat16))
            continue
        x = torch.randn(operand.stored((mn, k)), device="cuda", dtype=torch.bfloat16)

        def call(x: torch.Tensor = x, operand: Operand = operand) -> "QuantizedTensor":
            return quantize(x, operand, seed=next(seeds) if operand.spec.is_random else None)

        yield f"quantize {side.value}", call
        given.append(call())
    a, b = given
    spec = recipe.spec(asked)
    yield "gemm", lambda: gemm(a, b, spec)


def _torch_product() -> Call:
    """torch's product of two FP8 tensors with a scale each."""
    import torch

    m, n, k = MATMULS["fprop"].mnk(SHAPE)
    a, b = (torch.randn((rows, k), device="cuda").to(torch.float8_e4m3fn) for rows in (m, n))
    one = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=True)


def _torch_step() -> Call:
    """A step of torch.nn.Linear in bf16."""
    import torch

    layer = torch.nn.Linear(SHAPE.in_, SHAPE.out, False, "cuda", torch.bfloat16)
    return _step(layer)


def _our_step(recipe: Recipe) -> Call:
    """A step of the layer that computes as a recipe says."""
    import torch

    from kernels.layer import Float8Linear

    sizes = SHAPE.in_, SHAPE.out
    layer = Float8Linear(*sizes, bias=False, recipe=recipe.name, device="cuda", dtype=torch.bfloat16)
    return _step(layer)


def _step(layer: "torch.nn.Module") -> Call:
    """Forward and backward of a layer, whose gradients start from nothing."""
    import torch

    x = torch.randn((SHAPE.tokens, SHAPE.in_), device="cuda", dtype=torch.bfloat16, requires_grad=True)
    dy = torch.randn((SHAPE.tokens, SHAPE.out), device="cuda", dtype=torch.bfloat16)

    def step() -> None:
        x.grad = None
        for weight in layer.parameters():
            weight.grad = None
        layer(x).backward(dy)

    return step
