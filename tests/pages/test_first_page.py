"""The first page of a fresh server: what the server needs for it, imports and first drawing included."""

import subprocess
import sys

from tests.pages.gemm_rows import TOP

SECONDS = 2.0
PROGRAM = """
import time
from streamlit.testing.v1 import AppTest
at = AppTest.from_file("app.py", default_timeout=60)
start = time.perf_counter()
at.run()
assert not at.exception
print(time.perf_counter() - start)
"""


def test_a_fresh_server_answers_the_first_page_within_two_seconds():
    """Measured 0.7 s on two idle cores; the best of three, so that a busy neighbor is not counted."""
    seconds = []
    for _ in range(3):
        answer = subprocess.run(
            [sys.executable, "-c", PROGRAM], cwd=TOP, capture_output=True, text=True, timeout=120
        )
        assert answer.returncode == 0, answer.stderr[-2000:]
        seconds.append(float(answer.stdout.split()[-1]))
    assert min(seconds) < SECONDS
