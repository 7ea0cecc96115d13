"""What `make test` leaves to `make test-all`: two of three cases of a very long sweep."""

from collections import Counter

import pytest

LONG = 40
"""Cases of one test beyond which it is a long sweep."""
SHORTENED = ("tests/kernels/", "tests/pages/", "tests/fp8core/test_quantize.py")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark two of three cases of a long sweep `exhaustive`, before marks are selected."""
    swept = [item for item in items if item.nodeid.startswith(SHORTENED)]
    swept = [item for item in swept if not item.get_closest_marker("exhaustive")]
    cases = Counter(_name(item) for item in swept)
    seen: Counter[str] = Counter()
    for item in swept:
        name = _name(item)
        if cases[name] > LONG and seen[name] % 3:
            item.add_marker(pytest.mark.exhaustive)
        seen[name] += 1


def _name(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]
