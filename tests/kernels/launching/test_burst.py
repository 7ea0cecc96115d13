"""Contract: a tape of memory and launches alone gives a first call's bits, on the stream that is current."""

import ctypes
from threading import Thread

import pytest
import torch

from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES
from kernels.launching.burst import Burst
from kernels.launching.prepared import STREAM
from kernels.quantize import launch, quantize
from tests.kernels.cases import ON_GPU, WHERE
from tests.kernels.launching.stand_in import no_tapes_yet

WORD = 8
NAMES = ("deepseek_v3", "nvfp4", "per_tensor_delayed")


@pytest.fixture(autouse=True)
def driver():
    with no_tapes_yet(launch.TAPES) as cuda:
        yield cuda


def asked(name):
    """An operand, and what calls give beside x: nvfp4 rounds at random here.

    A history begins with steps that its rule does not look back on: kernels are given an address inside it.
    """
    operand = RECIPES[name].operand(MATMULS["dgrad"], Side.A)
    steps = operand.spec.scale_rule.history
    parts = torch.full((7,), 100.0), torch.full((steps,), 2.0)
    return operand, {"history": torch.cat(parts).to(WHERE)} if steps else {}


def numbers(seed):
    # The interpreter converts bfloat16 by one of torch's operations, which has no place in a burst.
    return torch.randn(32, 48, generator=torch.Generator().manual_seed(seed)).to(WHERE)


def step(name, seed):
    operand, options = asked(name)
    random = {"seed": 40 + 2 * seed} if operand.spec.is_random else {}
    return quantize(numbers(seed), operand, **options, **random)


def same(one, other):
    pairs = zip(one.made, other.made, strict=True)
    return all(
        torch.equal(*(each.reshape(-1).contiguous().view(torch.uint8) for each in pair)) for pair in pairs
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_burst_gives_a_first_call_s_bits(name):
    expected = []
    for seed in range(2):
        launch.TAPES.forget()
        expected.append(step(name, seed))
    step(name, 1)
    assert all(isinstance(tape, Burst) for tape in launch.TAPES._tapes.values())
    assert same(step(name, 0), expected[0])
    assert same(step(name, 1), expected[1])


@pytest.mark.skipif(ON_GPU, reason="reads what the stand-in is given")
def test_every_launch_of_a_burst_goes_to_the_current_stream(driver):
    launches, streams = driver.launch, []

    def noted(configuration, *given):
        streams.append(ctypes.c_uint64.from_address(configuration + STREAM * WORD).value)
        return launches(configuration, *given)

    driver.launch = noted
    step("deepseek_v3", 0)
    for stream in (7, 7, 0):
        driver.stream_now = stream
        step("deepseek_v3", 1)
    assert streams == [7, 7, 0]


def test_threads_that_share_a_burst_have_their_own_results():
    expected, wrong = [step("deepseek_v3", seed) for seed in range(3)], []

    def work(seed):
        for _ in range(200 if ON_GPU else 2):
            if not same(step("deepseek_v3", seed), expected[seed]):
                wrong.append(seed)

    threads = [Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
