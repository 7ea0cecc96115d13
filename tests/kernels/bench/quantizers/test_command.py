"""Contract: --quantizers asks for every copy of a kernel's result, alone and both; a line has its ratios."""

from kernels.bench.quantizers import QuantizerKernel, command


def asked(recipe, kernel):
    return [job.matmuls for job in command.jobs([recipe], [kernel], None)]


def test_each_copy_is_timed_alone_and_both_at_once():
    assert asked("deepseek_v3", QuantizerKernel.SWIGLU) == [("fprop",), ("wgrad",), ("fprop", "wgrad")]
    assert asked("deepseek_v3", QuantizerKernel.SWIGLU_BACKWARD) == [
        ("dgrad",),
        ("wgrad",),
        ("dgrad", "wgrad"),
    ]
