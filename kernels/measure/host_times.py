"""Host time of eager calls: microseconds of Python and the driver before the GPU has its work.

The host's clock times a call, which does not wait for the GPU. The shape is tiny, and the GPU finishes every
few calls: no call waits for a full queue.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from time import perf_counter_ns

import torch

from fp8core.linear import MATMULS, LayerShape, Side
from fp8core.recipes import RECIPES, Operand, Recipe
from kernels.measure.commands import add_matmul, add_recipe, choose_device, parser_of, selected

SHAPE = LayerShape(tokens=256, in_=512, out=256)
_BATCHES, _CALLS, _WARM_UP = 60, 20, 5
_NS_A_US = 1e3

Call = Callable[[], object]

_LINE = "{:18}{:28}{:8}{:8}{:8}{}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of("host", __doc__)
    add_recipe(parser)
    add_matmul(parser)
    options = parser.parse_args(arguments)
    choose_device()
    print(_LINE.format("recipe", "call", "µs", "p20", "p80", "torch's"))
    for line in _lines(selected(options.recipe, RECIPES), selected(options.matmul, MATMULS)):
        print(line, flush=True)
    return 0


def _lines(recipes: Sequence[str], matmuls: Sequence[str]) -> Iterator[str]:
    """A line for each call, beside torch's call of the kind where there is one."""
    from kernels.layer import Float8Linear
    from kernels.measure.timing import timing

    m, n, k = MATMULS["fprop"].mnk(SHAPE)
    a, b = (torch.randn((rows, k), device="cuda").to(torch.float8_e4m3fn) for rows in (m, n))
    one = torch.ones((), device="cuda")

    def product() -> torch.Tensor:
        return torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=True)

    step = _step(torch.nn.Linear(SHAPE.in_, SHAPE.out, False, "cuda", torch.bfloat16))
    for name in recipes:
        recipe = RECIPES[name]
        calls = [(f"{what} {matmul}", call) for matmul in matmuls for what, call in _calls(recipe, matmul)]
        layer = Float8Linear(SHAPE.in_, SHAPE.out, False, "cuda", torch.bfloat16, recipe=name)
        for what, call in (*calls, ("layer, forward + backward", _step(layer))):
            peer = product if what.startswith("gemm") else step if what.startswith("layer") else None
            ours, *torch_times = map(timing, _times_us([call, *([] if peer is None else [peer])]))
            cells = [name, what, *(f"{us:.1f}" for us in (ours.median_us, ours.p20_us, ours.p80_us))]
            op = "torch._scaled_mm" if peer is product else "torch.nn.Linear"
            cells.append(f"{torch_times[0].median_us:.1f} {op}" if torch_times else "")
            yield _LINE.format(*cells).rstrip()


def _times_us(calls: Sequence[Call]) -> list[list[float]]:
    times: list[list[float]] = [[] for _ in calls]
    for batch in range(_WARM_UP + _BATCHES):
        for call, own in zip(calls, times, strict=True):
            torch.cuda.synchronize()
            for _ in range(_CALLS):
                start = perf_counter_ns()
                call()
                end = perf_counter_ns()
                if batch >= _WARM_UP:
                    own.append((end - start) / _NS_A_US)
    torch.cuda.synchronize()
    return times


def _calls(recipe: Recipe, matmul: str) -> Iterator[tuple[str, Call]]:
    from kernels.gemm import gemm
    from kernels.quantize import quantize

    matmul_data = MATMULS[matmul]
    m, n, k = matmul_data.mnk(SHAPE)
    operands, seeds = [], count()
    for side, mn in ((Side.A, m), (Side.B, n)):
        operand = recipe.operand(matmul_data, side)
        if operand is None:
            operands.append(torch.randn((mn, k), device="cuda", dtype=torch.bfloat16))
            continue
        x = torch.randn(operand.stored((mn, k)), device="cuda", dtype=torch.bfloat16)

        def call(x: torch.Tensor = x, operand: Operand = operand) -> object:
            return quantize(x, operand, seed=next(seeds) if operand.spec.is_random else None)

        yield f"quantize {side.value}", call
        operands.append(call())
    a, b = operands
    spec = recipe.spec(matmul_data)
    yield "gemm", lambda: gemm(a, b, spec)


def _step(layer: torch.nn.Module) -> Call:
    x = torch.randn((SHAPE.tokens, SHAPE.in_), device="cuda", dtype=torch.bfloat16, requires_grad=True)
    dy = torch.randn((SHAPE.tokens, SHAPE.out), device="cuda", dtype=torch.bfloat16)

    def step() -> None:
        x.grad = None
        for weight in layer.parameters():
            weight.grad = None
        layer(x).backward(dy)

    return step
