"""Contract on a GPU: a call like an earlier one gives the bits of a first call, for other numbers, on the
stream that is current, and keeps no memory. First calls write down all that they do to tensors.
"""

import gc
import weakref
from threading import Thread

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fp8core.linear import Side
from kernels.gemm import gemm
from kernels.gemm import launch as gemm_launch
from kernels.launching.cache import overlap
from kernels.launching.trace import Trace
from kernels.quantize import QuantizedTensor, quantize
from kernels.quantize.quantize import LAUNCHES
from tests.kernels.cases import EVERY_GEMM, WHERE

on_gpu = pytest.mark.gpu
by_gemm = pytest.mark.parametrize(("recipe", "matmul"), EVERY_GEMM.values(), ids=EVERY_GEMM)
by_one = pytest.mark.parametrize(("recipe", "matmul"), [EVERY_GEMM["deepseek_v3-fprop"]], ids=["deepseek_v3"])
SHAPE = (18, 16, 72)


def clear():
    gemm_launch.LAUNCHES.clear()
    LAUNCHES.clear()


def lists() -> tuple[int, int]:
    return len(LAUNCHES), len(gemm_launch.LAUNCHES)


def random_operand(recipe, matmul, side, seed):
    """(x, operand, options) of numbers that the seed decides; no operand where x stays bf16."""
    m, n, k = SHAPE
    operand = recipe.operand(matmul, side)
    shape = (m if side is Side.A else n, k)
    shape = shape if operand is None else operand.stored(shape)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed)).bfloat16().to(WHERE)
    return x, operand, {"seed": 90 + 2 * seed} if operand is not None and operand.spec.is_random else {}


def quantized(recipe, matmul, side, seed):
    x, operand, options = random_operand(recipe, matmul, side, seed)
    return x if operand is None else quantize(x, operand, **options)


def step(recipe, matmul, seed):
    a, b = (quantized(recipe, matmul, side, seed) for side in Side)
    return a, b, gemm(a, b, recipe.spec(matmul))


def assert_same(one, other):
    """Equal bits, shapes, strides and dtypes."""
    if isinstance(one, QuantizedTensor):
        assert (one.operand, one.shape) == (other.operand, other.shape)
        for name in ("codes", "scale", "outer_scale", "amax"):
            assert_same(getattr(one, name), getattr(other, name))
    elif one is None:
        assert other is None
    else:
        assert (one.shape, one.stride(), one.dtype) == (other.shape, other.stride(), other.dtype)
        assert torch.equal(*(bits(each) for each in (one, other)))


def bits(x):
    return x.reshape(-1).contiguous().view(torch.uint8)


@on_gpu
@by_gemm
def test_a_warm_call_gives_a_first_call_s_bits(recipe, matmul):
    step(recipe, matmul, 0)
    first = lists()
    assert first == (sum(operand is not None for operand in recipe.operands(matmul)), 1)
    warm = step(recipe, matmul, 1)
    assert lists() == first
    clear()
    for one, other in zip(warm, step(recipe, matmul, 1), strict=True):
        assert_same(one, other)


@on_gpu
@by_one
def test_other_shapes_strides_and_alignments_are_other_calls(recipe, matmul):
    x, operand, _ = random_operand(recipe, matmul, Side.A, 0)
    wide = torch.zeros((SHAPE[0], SHAPE[2] + 24), dtype=torch.bfloat16, device=WHERE)
    odd = torch.zeros(x.numel() + 1, dtype=torch.bfloat16, device=WHERE)[1:].view(x.shape)
    for number, like in enumerate((x, x[:-1], wide[:, : SHAPE[2]], odd), start=1):
        for _ in range(2):
            like.copy_(x[: like.shape[0]])
            out = quantize(like, operand)
            assert torch.equal(bits(out.codes), bits(quantize(x, operand).codes[: like.shape[0]]))
        assert len(LAUNCHES) == number


def test_a_trace_lets_go_of_its_tensors_at_once():
    """A collection of garbage may come during the capture of a graph."""
    x, trace = torch.zeros(4), Trace()
    trace.add_allocation(x)
    trace.add_clear(x)
    trace.add_operation(torch.Tensor.fill_, (x, 1.0))
    trace.add_launch(None, (1,), (x,), {})
    alive = weakref.ref(trace)
    gc.disable()
    try:
        del trace
        assert alive() is None
    finally:
        gc.enable()


@on_gpu
@by_one
def test_a_launch_list_keeps_no_tensor_of_a_call_alive(recipe, matmul):
    a, b, out = step(recipe, matmul, 0)
    memory = [weakref.ref(each) for each in (*a.tensors, *b.tensors, out)]
    del a, b, out
    gc.collect()
    assert [each() for each in memory] == [None] * len(memory)


class Operations(TorchDispatchMode):
    """Counts torch's operations that write into tensors or bring a number to the host."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += func._schema.is_mutable or "_local_scalar_dense" in func.name()
        return func(*args, **(kwargs or {}))


@on_gpu
@by_gemm
def test_a_first_call_writes_down_each_operation_of_torch_that_it_runs(recipe, matmul, monkeypatch):
    """One that it did not would be missing in later calls. Tables are made before."""
    step(recipe, matmul, 0)
    clear()
    records = []
    for name in ("add_operation", "add_clear"):
        original = getattr(Trace, name)
        noted = lambda *arguments, do=original: (records.append(arguments), do(*arguments))[1]  # noqa: E731
        monkeypatch.setattr(Trace, name, noted)
    with Operations() as operations:
        step(recipe, matmul, 0)
    assert operations.count == len(records)


@on_gpu
@by_one
def test_a_call_that_uses_memory_of_its_own_is_left_to_triton(recipe, matmul, monkeypatch):
    a, b = (quantized(recipe, matmul, side, 0) for side in Side)
    spec = recipe.spec(matmul)
    expected = gemm(a, b, spec)
    clear()
    monkeypatch.setattr(
        gemm_launch, "empty", lambda shape, dtype, device: torch.empty(shape, dtype=dtype, device=device)
    )
    for _ in range(3):
        assert_same(gemm(a, b, spec), expected)
    assert len(gemm_launch.LAUNCHES) == 0
    (reason,) = gemm_launch.LAUNCHES.refusals.values()
    assert "did not ask for" in reason


@on_gpu
@by_one
def test_threads_that_launch_at_once_have_their_own_results(recipe, matmul):
    """Arguments lie in memory that all threads share: none reads another's."""
    pairs = [step(recipe, matmul, seed) for seed in range(4)]
    expected = [tuple(each.clone() for each in (a.codes, out)) for a, _, out in pairs]
    wrong = []

    def work(number):
        for _ in range(200):
            a, _, out = step(recipe, matmul, number)
            if not all(map(torch.equal, map(bits, (a.codes, out)), map(bits, expected[number]))):
                wrong.append(number)

    threads = [Thread(target=work, args=(number,)) for number in range(len(pairs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@on_gpu
@by_gemm
def test_a_captured_graph_repeats_a_warm_call(recipe, matmul):
    spec = recipe.spec(matmul)
    xs = [random_operand(recipe, matmul, side, 0)[0] for side in Side]

    def seeded_step():
        operands = []
        for side, x in zip(Side, xs, strict=True):
            operand = recipe.operand(matmul, side)
            options = {"seed": 7} if operand and operand.spec.is_random else {}
            operands.append(x if operand is None else quantize(x, operand, **options))
        return gemm(*operands, spec)

    seeded_step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = seeded_step()
    for x, side in zip(xs, Side, strict=True):
        x.copy_(random_operand(recipe, matmul, side, 1)[0])
    graph.replay()
    clear()
    assert_same(out, seeded_step())


@on_gpu
@by_one
def test_a_warm_call_runs_on_the_current_stream(recipe, matmul):
    """It comes after what the stream already has to do: a wait, then new numbers."""
    x, operand, _ = random_operand(recipe, matmul, Side.A, 0)
    other, spec = random_operand(recipe, matmul, Side.A, 1)[0], recipe.spec(matmul)
    b = quantized(recipe, matmul, Side.B, 0)
    gemm(quantize(x, operand), b, spec)
    expected = gemm(quantize(other, operand), b, spec)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(20_000_000)
        x.copy_(other)
        out = gemm(quantize(x, operand), b, spec)
    torch.cuda.synchronize()
    assert_same(out, expected)


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        (slice(0, 5), slice(4, 9), True),
        (slice(0, 5), slice(5, 9), False),
        (slice(0, 9, 4), slice(8, 9), True),
        (slice(0, 9, 4), slice(9, 12), False),
        (slice(0, 9, 2), slice(1, 9, 2), True),
    ],
    ids=str,
)
def test_tensors_overlap_up_to_their_last_element(one, other, shared):
    line = torch.zeros(12, dtype=torch.bfloat16)
    assert overlap([line[one], line[other]]) is shared
    assert overlap([line[other], line[one]]) is shared
