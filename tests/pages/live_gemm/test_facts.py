"""Facts of the page "Live GEMM": the recorded row that the page shows."""

import pytest

from pages.kit.lesson.facts import fact

SHAPE = {"m": 4096, "n": 4096, "k": 7168}


def test_the_kernels_error_is_a_part_of_the_whole_error():
    whole, own = (fact(f"live_gemm.{name}", SHAPE) for name in ("rel_err", "kernel_rel_err"))
    assert 0 < own < whole
    assert fact("live_gemm.kernel_share", SHAPE) == pytest.approx(own / whole)


def test_a_shape_that_was_not_recorded_is_refused():
    with pytest.raises(ValueError, match="no row of deepseek_v3 is recorded for 512 × 512 × 512"):
        fact("live_gemm.times_bf16", {"m": 512, "n": 512, "k": 512})
