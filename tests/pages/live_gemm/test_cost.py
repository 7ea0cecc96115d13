"""Live GEMM and what it costs the app: never torch, no long reruns, a sentence where Triton is missing."""

import importlib.util
import subprocess
import sys
from statistics import median

from tests.cpu import cpu_seconds
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


def test_a_rerun_with_recorded_results_on_screen_takes_a_moment(open_app):
    """Measured median 17 ms of the processor; the guard allows a slow one. Uncached charts take 280 ms."""
    at = open_app(PAGE)
    assert any("Recorded on" in text.value for text in at.markdown)
    at.run()
    seconds = []
    for seed in range(1, 8):
        at.number_input(key="seed").set_value(seed)
        seconds.append(cpu_seconds(at.run))
    assert median(seconds) < 0.15
