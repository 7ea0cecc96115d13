"""The first page of a fresh server: the time it takes, imports and first drawing included, and what must be
there before two sessions draw at once.
"""

import subprocess
import sys

from tests.pages.gemm_rows import TOP

TIMES, ATTEMPTS = 2.0, 3
"""The processor's seconds of a first answer, at most, over those of importing what it stands on. A processor
that others slow takes longer for both, and only ever longer: one of the attempts is to hold.
"""
ANSWER = """
import sys, time
start = time.process_time()
from streamlit.testing.v1 import AppTest
with_streamlit = time.process_time()
import altair, pandas, pyarrow
with_all = time.process_time()
at = AppTest.from_file("app.py", default_timeout=60)
at.run()
assert not at.exception
assert not {"torch", "triton"} & sys.modules.keys()
print((time.process_time() - with_streamlit) / (with_all - start))
"""
"""A server has Streamlit before its first reader comes."""


def answer_over_imports() -> float:
    """The seconds of a first answer over those of its imports, both of one fresh process."""
    answer = subprocess.run(
        [sys.executable, "-c", ANSWER], cwd=TOP, capture_output=True, text=True, timeout=120
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    return float(answer.stdout.split()[-1])


def test_a_fresh_server_answers_the_first_page_in_twice_the_time_of_its_imports():
    """Measured 1.9 s beside 1.4 s on a processor that was slowed; 1.4 s for an answer where nobody did."""
    assert any(answer_over_imports() <= TIMES for _ in range(ATTEMPTS))


def test_pandas_is_whole_before_any_session_draws():
    """Altair asks sys.modules for pandas, and is given it half-made while another thread imports it."""
    program = "import sys, pages.kit.shell; sys.exit('pandas' not in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=TOP, timeout=60).returncode == 0
