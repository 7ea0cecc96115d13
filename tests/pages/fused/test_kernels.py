"""The words on quantizing kernels say of each what it took turns with."""

from pages.fused.kernels import turns
from tests.kernels.bench.quantizers.made_up import row as quantizer_row


def test_a_kernel_without_a_time_of_torch_compile_is_not_said_to_have_taken_turns_with_it():
    timed, lacking = quantizer_row(), quantizer_row(compiled=None, compiled_note="it failed")
    assert turns([timed, timed]) == "Each took turns with a copy and with torch.compile in one run."
    assert turns([timed, lacking, timed]) == (
        "Each took turns with a copy in one run, those with a hollow mark with torch.compile, too. "
        "1 of 3 has no time of torch.compile: it failed."
    )
    assert turns([lacking, lacking]) == (
        "Each took turns with a copy in one run. 2 of 2 have no time of torch.compile: it failed."
    )
