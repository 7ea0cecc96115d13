"""Contract: whose job is next. First answers before careful ones; who had little before who had much; short
before long; and nobody waits forever.
"""

import pytest

from kernels.worker.order import HALF_LIFE_S, Place, Served

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


def test_seconds_of_gpu_fade_and_are_forgotten():
    served = Served()
    served.charge("a", 8.0, now=0.0)
    assert served.lately("a", 0.0) == 8.0
    assert served.lately("a", 2 * HALF_LIFE_S) == 2.0
    assert served.lately("b", 0.0) == 0.0
    for number in range(200):
        served.charge(f"session {number}", 1e-6, now=99 * HALF_LIFE_S)
    assert len(served._had) < 150
