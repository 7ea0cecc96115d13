"""Contract: a call like an earlier one gives the bits that a first call gives, for other numbers, and makes
nothing but its results: no file, no import, no plan.
"""

import gc
import weakref
from copy import copy
from threading import Thread

import pytest
import torch

from fp8core.linear import Side
from kernels.gemm import gemm
from kernels.gemm import launch as gemm_launch
from kernels.quantize import QuantizedTensor, quantize
from kernels.quantize import launch as quantize_launch
from tests.kernels.cases import EVERY_GEMM, ON_GPU, WHERE
from tests.kernels.launching.stand_in import no_tapes_yet

CASES = {name: EVERY_GEMM[name] for name in ("per_tensor_delayed-fprop", "deepseek_v3-wgrad", "nvfp4-wgrad")}
by_case = pytest.mark.parametrize(
    ("recipe", "matmul"), (EVERY_GEMM if ON_GPU else CASES).values(), ids=EVERY_GEMM if ON_GPU else CASES
)
by_one = pytest.mark.parametrize(("recipe", "matmul"), [EVERY_GEMM["deepseek_v3-fprop"]], ids=["deepseek_v3"])
SHAPE = (18, 16, 72)


@pytest.fixture(autouse=True)
def driver():
    """CUDA's driver, or what stands in for it, with no tapes yet."""
    with no_tapes_yet(gemm_launch.TAPES, quantize_launch.TAPES) as cuda:
        yield cuda


def forget():
    gemm_launch.TAPES.forget()
    quantize_launch.TAPES.forget()


def given(recipe, matmul, side, seed, mnk=SHAPE):
    """(x, operand, options) of numbers that the seed decides; no operand where x stays bf16."""
    m, n, k = mnk
    operand = recipe.operand(matmul, side)
    shape = (m if side is Side.A else n, k)
    shape = shape if operand is None else operand.stored(shape)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed)).bfloat16().to(WHERE)
    return x, operand, {"seed": 90 + 2 * seed} if operand is not None and operand.spec.is_random else {}


def quantized(recipe, matmul, side, seed, mnk=SHAPE):
    x, operand, options = given(recipe, matmul, side, seed, mnk)
    return x if operand is None else quantize(x, operand, **options)


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


@by_case
def test_a_warm_call_gives_a_first_call_s_bits(recipe, matmul):
    spec = recipe.spec(matmul)

    def step(seed):
        a, b = (quantized(recipe, matmul, side, seed) for side in Side)
        return a, b, gemm(a, b, spec)

    step(0)
    first = len(quantize_launch.TAPES), len(gemm_launch.TAPES)
    warm = step(1)
    assert (len(quantize_launch.TAPES), len(gemm_launch.TAPES)) == first
    assert first == (sum(operand is not None for operand in recipe.operands(matmul)), 1)
    forget()
    for one, other in zip(warm, step(1), strict=True):
        assert_same(one, other)


@by_one
def test_a_warm_gemm_writes_the_out_that_it_is_given(recipe, matmul):
    spec = recipe.spec(matmul)
    for seed in range(2):
        a, b = (quantized(recipe, matmul, side, seed) for side in Side)
        out = torch.full((*SHAPE[:1], SHAPE[1] + 3), torch.nan, dtype=torch.bfloat16, device=WHERE)[:, :-3]
        assert gemm(a, b, spec, out=out) is out
        assert torch.equal(out, gemm(a, b, spec))
    assert len(gemm_launch.TAPES) == 2


@by_one
def test_other_shapes_strides_and_alignments_are_other_calls(recipe, matmul):
    x, operand, _ = given(recipe, matmul, Side.A, 0)
    wide = torch.zeros((SHAPE[0], SHAPE[2] + 24), dtype=torch.bfloat16, device=WHERE)
    odd = torch.zeros(x.numel() + 1, dtype=torch.bfloat16, device=WHERE)[1:].view(x.shape)
    for number, like in enumerate((x, x[:-1], wide[:, : SHAPE[2]], odd), start=1):
        for _ in range(2):
            like.copy_(x[: like.shape[0]])
            made = quantize(like, operand)
            assert torch.equal(bits(made.codes), bits(quantize(x, operand).codes[: like.shape[0]]))
        assert len(quantize_launch.TAPES) == number


@pytest.mark.gpu
@pytest.mark.skipif(not ON_GPU, reason="the stand-in keeps what it is given")
@by_one
def test_a_tape_keeps_no_tensor_of_a_call_alive(recipe, matmul):
    a, b = (quantized(recipe, matmul, side, 0) for side in Side)
    made = gemm(a, b, recipe.spec(matmul))
    memory = [weakref.ref(each) for each in (*a.tensors, *b.tensors, made)]
    del a, b, made
    gc.collect()
    assert [each() for each in memory] == [None] * len(memory)


@by_one
def test_a_copy_of_a_quantized_tensor_has_a_layout_of_its_own(recipe, matmul):
    a = quantized(recipe, matmul, Side.A, 0)
    assert "layout" in a.__dict__
    assert "layout" not in copy(a).__dict__


@by_one
def test_what_cannot_be_repeated_is_left_to_triton(recipe, matmul, monkeypatch):
    """A launcher that reads a number on the host, and one that uses memory of its own."""
    a, b = (quantized(recipe, matmul, side, 0) for side in Side)
    memory, spec = torch.zeros(4, device=WHERE), recipe.spec(matmul)
    original = gemm_launch._multiplied
    for meddle in (lambda: a.scale.sum().item(), lambda: memory.add_(1)):
        monkeypatch.setattr(gemm_launch, "_multiplied", lambda *given, do=meddle: (do(), original(*given))[1])
        expected = [bits(gemm(a, b, spec)) for _ in range(5)]
        assert len(gemm_launch.TAPES) == 0
        assert all(torch.equal(each, expected[0]) for each in expected)
    assert memory[0] == 5


@by_one
def test_threads_that_launch_at_once_have_their_own_results(recipe, matmul):
    """Arguments lie in memory that all threads share: none reads another's."""
    spec = recipe.spec(matmul)
    pairs = [[quantized(recipe, matmul, side, seed) for side in Side] for seed in range(4 if ON_GPU else 2)]
    expected = [gemm(a, b, spec) for a, b in pairs]
    wrong = []

    def work(number):
        for _ in range(200 if ON_GPU else 2):
            if not torch.equal(gemm(*pairs[number], spec), expected[number]):
                wrong.append(number)

    threads = [Thread(target=work, args=(number,)) for number in range(len(pairs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.gpu
@pytest.mark.skipif(not ON_GPU, reason="needs a GPU")
@by_case
def test_a_captured_graph_repeats_a_warm_call(recipe, matmul):
    spec = recipe.spec(matmul)
    xs = [given(recipe, matmul, side, 0)[0] for side in Side]

    def step():
        made = []
        for side, x in zip(Side, xs, strict=True):
            operand = recipe.operand(matmul, side)
            options = {"seed": 7} if operand and operand.spec.is_random else {}
            made.append(x if operand is None else quantize(x, operand, **options))
        return gemm(*made, spec)

    step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = step()
    for x, side in zip(xs, Side, strict=True):
        x.copy_(given(recipe, matmul, side, 1)[0])
    graph.replay()
    forget()
    assert_same(out, step())


@pytest.mark.gpu
@pytest.mark.skipif(not ON_GPU, reason="needs a GPU")
@by_one
def test_a_warm_call_runs_on_the_current_stream(recipe, matmul):
    """It comes after what the stream already has to do: a wait, then new numbers."""
    x, operand, _ = given(recipe, matmul, Side.A, 0)
    other, spec = given(recipe, matmul, Side.A, 1)[0], recipe.spec(matmul)
    b = quantized(recipe, matmul, Side.B, 0)
    gemm(quantize(x, operand), b, spec)
    expected = gemm(quantize(other, operand), b, spec)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(20_000_000)
        x.copy_(other)
        made = gemm(quantize(x, operand), b, spec)
    torch.cuda.synchronize()
    assert_same(made, expected)
