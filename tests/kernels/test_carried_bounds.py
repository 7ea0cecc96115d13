"""Contract: no kernel carries a number that an older Triton loses (tests.kernels.carried_bounds)."""

import pytest

from kernels.paths import TOP
from tests.kernels.carried_bounds import lost_bounds

CARRIED = """
def kernel(n, items):
    first, stop = share_of(0)
    for item in range(items):
        {between}
        for place in range({bound}):
            multiply(first + place, {asked})
        first, stop = share_of(item + 1)
"""


def test_no_kernel_carries_a_number_that_bounds_alone_ask_for():
    files = sorted((TOP / "kernels").rglob("*.py"))
    kernels = {path: text for path in files if ".jit" in (text := path.read_text(encoding="utf-8"))}
    assert len(kernels) > 20
    assert {path.name: found for path, text in kernels.items() if (found := lost_bounds(text))} == {}


@pytest.mark.parametrize(
    ("between", "bound", "asked", "found"),
    [
        ("pass", "stop - first", "n", ["kernel: stop"]),
        ("pass", "first, stop", "n", ["kernel: stop"]),
        ("left = stop - first", "left", "n", ["kernel: stop"]),
        ("left = stop - first", "left", "place < left", []),
        ("pass", "stop - first", "place < stop", []),
        ("first, stop = share_of(item)", "stop - first", "stop", []),
    ],
)
def test_a_number_is_lost_where_nothing_but_a_bound_asks_for_it(between, bound, asked, found):
    assert lost_bounds(CARRIED.format(between=between, bound=bound, asked=asked)) == found
