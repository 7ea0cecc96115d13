"""Live GEMM says where Triton is missing, and its facts are those of recorded rows."""

import importlib.util

import pytest

from pages.kit.lesson.facts import fact

PAGE = "pages/live_gemm.py"


def test_without_triton_the_page_says_so_before_anything_is_run(open_app, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr("kernels.device.find_spec", lambda name: None if name == "triton" else find(name))
    at = open_app(PAGE, m="256", n="256", k="256")
    assert not at.exception
    assert at.button(key="run").disabled
    assert "the kernels need triton, which is not installed here" in next(info.value for info in at.info)


SHAPE = {"m": 4096, "n": 4096, "k": 7168}


def test_the_kernels_error_is_a_part_of_the_whole_error():
    whole, own = (fact(f"live_gemm.{name}", SHAPE) for name in ("rel_err", "kernel_rel_err"))
    assert 0 < own < whole
    assert fact("live_gemm.kernel_share", SHAPE) == pytest.approx(own / whole)


def test_a_shape_that_was_not_recorded_is_refused():
    with pytest.raises(ValueError, match="no row of deepseek_v3 is recorded for 512 × 512 × 512"):
        fact("live_gemm.times_bf16", {"m": 512, "n": 512, "k": 512})
