"""Contract: whose job is next. First answers before careful ones; who had little before who had much; short
before long; and nobody waits forever.
"""

import pytest

from kernels.bench.cost import gemm_cost
from kernels.worker.order import HALF_LIFE_S, Place, Served
from tests.kernels.worker.simulated import LOOK_S, Classroom, jobs

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


READERS = 30
SLACK = 1.2
"""A simulated job takes up to so many times its estimate."""


def work_s(asked) -> float:
    """What all first answers take at most: a worker looks once behind each before it gives way."""
    return sum(SLACK * gemm_cost(job).first_s + LOOK_S for job in asked)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("seed", range(2))
def test_all_have_a_first_answer_when_the_first_answers_are_done(seed, workers):
    room, asked = Classroom(workers, seed), jobs(READERS, seed)
    tickets = [room.press(job, f"reader {number}") for number, job in enumerate(asked)]
    room.run(room.clock.now + 300.0)
    longest = max(SLACK * gemm_cost(job).first_s for job in asked)
    assert set(tickets) <= set(room.first)
    assert max(room.first.values()) <= work_s(asked) / workers + longest + LOOK_S
    assert set(tickets) <= set(room.careful)


@pytest.mark.parametrize("seed", range(2))
def test_no_careful_answer_begins_while_anybody_waits_for_a_first_one(seed):
    room = Classroom(2, seed)
    for number, job in enumerate(jobs(60, seed)):
        room.at(room.clock.now + 0.2 * number, lambda job=job, n=number: room.press(job, f"reader {n % 30}"))
    room.run(room.clock.now + 60.0)
    careful = [waiting for is_careful, waiting in room.begun if is_careful]
    assert len(careful) > 10
    assert set(careful) == {0}
    assert max(waiting for _, waiting in room.begun) > 2, "there was a line"
