"""How a page is tested without a browser.

    def test_a_page_answers(open_app):
        at = open_app("pages/live_gemm.py", recipe="mxfp8", matmul="wgrad")   # as a deep link does
        assert not at.exception
        at.segmented_control(key="recipe").set_value("rowwise").run()
        assert at.query_params == {"recipe": "rowwise", "matmul": "wgrad"}
        at.switch_page("pages/tile_layouts.py").run()                          # as the sidebar does

`at.get("vega_lite_chart")[0].proto.spec` is a chart. `hostile_queries` in `tests/pages/hostile.py` makes
addresses to be survived.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from kernels.bench.limits import Limits
from kernels.bench.records import record
from pages.kit import queue_panel as gpu_queue
from pages.kit import results as gemm_results
from pages.kit.queue_panel import Session, Workers
from tests.pages.gemm_rows import stand_in_queue

TOP = Path(__file__).resolve().parents[2]
SECONDS = 60


@pytest.fixture
def open_app() -> Callable[..., AppTest]:
    """A function that opens the app in a new session: the page, and its address's parameters."""

    def open_(page: str | None = None, **parameters: str | list[str]) -> AppTest:
        at = AppTest.from_file(str(TOP / "app.py"), default_timeout=SECONDS)
        if page is not None:
            at.switch_page(page)
        for key, value in parameters.items():
            at.query_params[key] = value
        return at.run()

    return open_


@pytest.fixture(autouse=True)
def figures_may_be_made_up(monkeypatch):
    """Rows of these tests have round times, some of them faster than the GPU whose name they bear."""
    monkeypatch.setattr("kernels.bench.records.datasheet_limits", lambda name: Limits())


@pytest.fixture
def stand_in_workers(monkeypatch, tmp_path):
    """Stand-in workers of the CPU, and no recorded rows."""
    made = Workers(stand_in_queue(), has_gpu=False)
    monkeypatch.setattr(gpu_queue, "workers", lambda: made)
    monkeypatch.setattr(gemm_results, "RECORDS", tmp_path)
    yield made
    made.queue.close()


@pytest.fixture
def recorded(tmp_path):
    """A function that records measurements, in this order."""

    def record_these(*found):
        for one in found:
            record(one, tmp_path)

    return record_these


@pytest.fixture
def measured_here(monkeypatch):
    """A function that gives the session these results, newest first."""

    def give(*rows):
        mine = Session(rows=list(rows))
        monkeypatch.setattr(gpu_queue, "session", lambda: mine)

    return give
