"""Sanity check and what it costs the app: never torch, no long reruns."""

import subprocess
import sys
from statistics import median

from kernels.worker.states import Done
from pages.sanity_check import history as sanity_history
from pages.sanity_check.history import History
from tests.cpu import cpu_seconds
from tests.pages.gemm_rows import TOP
from tests.pages.sanity_check.reports import report
from tests.sweeps import exhaustive

PAGE = "pages/sanity_check.py"


@exhaustive
def test_the_app_never_imports_torch_though_a_check_is_run():
    program = f"""
import sys
from streamlit.testing.v1 import AppTest
at = AppTest.from_file("app.py", default_timeout=60)
at.switch_page({PAGE!r})
at.query_params["check"] = "quick"
at.run()
at.button(key="run_check").click().run()
from tests.pages.gemm_rows import run_until
run_until(at, lambda at: not any(button.label == "Stop" for button in at.button), patience_s=90)
assert not at.exception and not at.error, [error.value for error in at.error]
passed = "| **Does the same input give the same bits every time?** | :green-badge"
assert any(passed in text.value for text in at.markdown)
sys.exit(", ".join({{"torch", "triton"}} & set(sys.modules)) or None)
"""
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=TOP, capture_output=True, text=True, timeout=120
    )
    assert answer.returncode == 0, answer.stderr[-2000:]


def test_a_rerun_with_a_whole_report_on_screen_takes_a_moment(open_app, monkeypatch):
    """Measured median 9 ms of the processor; the guard allows a slow one."""
    made = History()
    made.keep(Done(report(failed=["mxfp8 wgrad"], share=0.6)))
    monkeypatch.setattr(sanity_history, "history", lambda: made)
    at = open_app(PAGE)
    assert at.get("vega_lite_chart")
    seconds = []
    for number in range(8):
        at.segmented_control(key="check").set_value(("quick", "full")[number % 2])
        seconds.append(cpu_seconds(at.run))
    assert median(seconds) < 0.15
