"""Contract: --eager prints each call's host time beside that of torch, and says where it cannot."""

import pytest

from kernels.bench.__main__ import main
from tests.kernels.cases import ON_GPU


@pytest.mark.skipif(ON_GPU, reason="there is a GPU")
def test_without_a_gpu_a_sentence_says_so(capsys):
    assert main(["--eager"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "do not wait for a GPU, and Triton interpreter runs a kernel within the call" in err


@pytest.mark.gpu
@pytest.mark.skipif(not ON_GPU, reason="needs a GPU")
@pytest.mark.alone
def test_every_call_of_a_recipe_is_timed(capsys):
    assert main(["--eager", "--recipe", "deepseek_v3"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[1] for line in lines] == ["quantize", "quantize", "gemm", "layer,"]
