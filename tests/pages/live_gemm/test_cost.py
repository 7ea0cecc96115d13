"""Live GEMM and what it costs the app: never torch, no long reruns, a sentence where Triton is missing."""

import importlib.util
import subprocess
import sys

import pytest

from pages.kit.lesson.facts import fact
from tests.pages.gemm_rows import TOP

PAGE = "pages/live_gemm.py"


def test_the_app_never_imports_torch_though_a_gemm_is_run():
    program = f"""
import sys
import time
from statistics import median
from streamlit.testing.v1 import AppTest
at = AppTest.from_file("app.py", default_timeout=60)
at.switch_page({PAGE!r})
for key in "mnk":
    at.query_params[key] = "64"
at.run()
at.button(key="run").click().run()
from tests.pages.gemm_rows import run_until
run_until(at, lambda at: not any(button.label == "Stop" for button in at.button), patience_s=90)
assert not at.exception and not at.error, [error.value for error in at.error]
assert any("interpreter on this CPU" in text.value or "GPU: " in text.value for text in at.markdown)
sys.exit(", ".join({{"torch", "triton"}} & set(sys.modules)) or None)
"""
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=TOP, capture_output=True, text=True, timeout=120
    )
    assert answer.returncode == 0, answer.stderr[-2000:]


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
