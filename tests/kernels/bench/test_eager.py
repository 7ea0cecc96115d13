"""Contract: --eager prints each call's host time beside that of torch, and says where it cannot."""

import pytest

from kernels.bench import eager
from kernels.bench.__main__ import main
from tests.kernels.cases import ON_GPU

MADE_UP = eager.HostTime(
    recipe="rowwise",
    what="gemm fprop",
    median_us=10.74,
    p20_us=10.0,
    p80_us=12.0,
    other="torch._scaled_mm",
    other_us=16.4,
)


@pytest.mark.skipif(ON_GPU, reason="there is a GPU")
def test_without_a_gpu_a_sentence_says_so(capsys):
    assert main(["--eager"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "do not wait for a GPU, and Triton interpreter runs a kernel within the call" in err


def test_a_line_has_the_call_its_times_and_torch_s():
    assert eager.line(MADE_UP).split() == [
        "rowwise",
        "gemm",
        "fprop",
        "10.7",
        "10.0",
        "12.0",
        "16.4",
        "torch._scaled_mm",
    ]
    assert eager.HEADER.split()[:3] == ["recipe", "call", "µs"]


@pytest.mark.gpu
@pytest.mark.skipif(not ON_GPU, reason="needs a GPU")
@pytest.mark.alone
def test_every_call_of_a_recipe_is_timed(capsys):
    assert main(["--eager", "--recipe", "deepseek_v3"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[1] for line in lines] == ["quantize", "quantize", "gemm", "layer,"]
