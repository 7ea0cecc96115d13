"""What `make test` leaves to `make test-all`: two of three cases of a long sweep."""

from collections import Counter
from zlib import crc32

import pytest

LONG = 10
"""Cases of one test beyond which it is a long sweep."""
KEPT = 3
"""One of so many cases of a long sweep is run. Its name decides, so that no axis of the sweep is left out."""
SHORTENED = ("tests/kernels/", "tests/pages/", "tests/fp8core/test_quantize.py")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark most cases of a long sweep `exhaustive`, before marks are selected."""
    swept = [item for item in items if item.nodeid.startswith(SHORTENED)]
    swept = [item for item in swept if not item.get_closest_marker("exhaustive")]
    cases = Counter(_name(item) for item in swept)
    for item in swept:
        if cases[_name(item)] > LONG and crc32(item.nodeid.encode()) % KEPT:
            item.add_marker(pytest.mark.exhaustive)


def _name(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]
