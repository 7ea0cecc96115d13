"""Contract: whose job is next. First answers before careful ones; who had little before who had much; short
before long; and nobody waits forever.
"""

import pytest

from kernels.worker.order import Place

NEW = Place(is_next=False, is_careful=False, served_s=0.0, cost_s=1.0, waited_s=0.0, number=9)


@pytest.mark.parametrize(
    "change",
    [
        {"is_next": True, "cost_s": 50.0},
        {"cost_s": 0.5},
        {"waited_s": 0.5},
        {"served_s": 1.0, "waited_s": 1.5},
        {"number": 8},
    ],
    ids=str,
)
def test_what_comes_first(change):
    assert NEW._replace(**change).key < NEW.key
