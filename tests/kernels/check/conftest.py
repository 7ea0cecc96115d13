"""What tests of the check need beside pytest."""

from types import ModuleType

import pytest


@pytest.fixture
def jsonschema() -> ModuleType:
    """What validates a report: in tests/requirements.txt, and not on every machine that has a GPU."""
    return pytest.importorskip("jsonschema")
