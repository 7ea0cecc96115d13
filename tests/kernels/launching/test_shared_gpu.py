"""Contract: D has the same bits on a GPU that other processes use, too."""

import subprocess
import sys

import pytest

PROCESSES, SECONDS, LEAST_CALLS = 8, 20, 10_000

pytestmark = [pytest.mark.gpu, pytest.mark.alone]


def test_products_have_the_same_bits_whoever_shares_the_gpu():
    command = [sys.executable, "-m", "tests.kernels.launching.crowd", str(SECONDS)]
    crowd = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    ended = [(*each.communicate(), each.returncode) for each in crowd]
    assert all(code == 0 for *_, code in ended), ended[0][1][-2000:]
    calls, wrong = (sum(column) for column in zip(*(map(int, out.split()) for out, *_ in ended), strict=True))
    assert calls > LEAST_CALLS
    assert wrong == 0, f"{wrong} of {calls} calls"
