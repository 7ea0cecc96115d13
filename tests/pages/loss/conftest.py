"""The page's tests start no worker, and read made-up runs."""

import pytest

from pages.loss import runs
from tests.pages.loss.rows import all_rows, write


@pytest.fixture(autouse=True)
def workers(stand_in_workers):
    """No worker starts."""


@pytest.fixture
def record(tmp_path, monkeypatch):
    """A function that puts these runs in the place of the recorded ones."""
    return lambda rows: monkeypatch.setattr(runs, "TRAIN", write(tmp_path, rows))


@pytest.fixture
def recorded(tmp_path, record):
    """A folder of made-up runs in the place of the recorded ones."""
    record(all_rows())
    return tmp_path


@pytest.fixture
def nothing(tmp_path, monkeypatch) -> None:
    """No runs are recorded."""
    monkeypatch.setattr(runs, "TRAIN", tmp_path / "none")
