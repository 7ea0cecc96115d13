"""How a page is tested without a browser.

    def test_a_page_answers(open_app):
        at = open_app("pages/live_gemm.py", recipe="mxfp8", matmul="wgrad")   # as a deep link does
        assert not at.exception
        at.segmented_control(key="matmul").set_value("wgrad").run()
        assert at.query_params == {"recipe": "rowwise", "matmul": "wgrad"}
        at.switch_page("pages/tile_layouts.py").run()                          # as the sidebar does

`at.get("vega_lite_chart")[0].proto.spec` is a chart.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from kernels.measure.peak_rates import Limits
from kernels.measure.records import CEILINGS, GEMMS
from kernels.measure.rows import Ceilings
from pages.kit.computing import compute
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.gemm import results as gemm_results
from pages.kit.gemm.queue_panel import Session, Workers
from tests.kernels.worker.gates import Gates
from tests.pages.gemm_rows import stand_in_queue

TOP = Path(__file__).resolve().parents[2]
SECONDS = 60

# Each session of AppTest looks for components in all installed packages, which takes longer than a page.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


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
    monkeypatch.setattr("kernels.measure.records.datasheet_limits", lambda name: Limits())


@pytest.fixture
def gates(tmp_path_factory) -> Gates:
    """The gates of the stand-in workers, all open: a test closes one to see what a page shows meanwhile."""
    return Gates(tmp_path_factory.mktemp("stand-ins") / "gates")


@pytest.fixture
def stand_in_workers(monkeypatch, tmp_path, gates):
    """Stand-in workers of the CPU, and no recorded rows."""
    made = Workers(stand_in_queue(gates.argument), has_gpu=False)
    monkeypatch.setattr(gpu_queue, "workers", lambda: made)
    monkeypatch.setattr(gemm_results, "RECORDS", tmp_path)
    yield made
    made.queue.close()


@pytest.fixture
def on_gpu(stand_in_workers, monkeypatch):
    """The stand-in workers, taken for a GPU's."""
    monkeypatch.setattr(gpu_queue, "workers", lambda: replace(stand_in_workers, has_gpu=True))


@pytest.fixture
def recorded(tmp_path):
    """A function that records measurements, in this order."""

    def record_these(*found):
        for one in found:
            (CEILINGS if isinstance(one, Ceilings) else GEMMS).record(one, tmp_path)

    return record_these


@pytest.fixture
def measured_here(monkeypatch):
    """A function that gives the session these results, newest first."""

    def give(*rows):
        mine = Session(rows=list(rows))
        monkeypatch.setattr(gpu_queue, "session", lambda: mine)

    return give


@pytest.fixture(autouse=True, scope="session")
def patient_pages() -> Iterator[None]:
    """A page of a test waits for what it computes in the pool: its first run is its last."""
    patch = pytest.MonkeyPatch()
    patch.setattr(compute, "PATIENCE_S", float(SECONDS))
    yield
    patch.undo()
