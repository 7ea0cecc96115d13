"""Contract: in a class of thirty nobody waits for more than the first answers of all, whatever one of them
runs; careful answers take spare time only. In virtual time, over seeds.
"""

from dataclasses import replace

import pytest

from kernels.bench.cost import Allowance, gemm_cost
from kernels.worker.states import Waiting
from tests.kernels.worker.simulated import LOOK_S, Classroom
from tests.load.gpu_class import heaviest, jobs, spread

READERS = 30
SLACK = 1.2
"""A simulated job takes up to so many times its estimate."""
HEAVY = heaviest(Allowance())
HEAVY_S = SLACK * gemm_cost(HEAVY).first_s


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
    assert spread([room.first.get(ticket) for ticket in tickets])["missing"] == 0
    assert max(room.first.values()) <= work_s(asked) / workers + longest + LOOK_S
    assert set(tickets) <= set(room.careful)


@pytest.mark.parametrize("seed", range(2))
def test_one_who_runs_the_heaviest_job_throughout_costs_others_one_of_its_first_answers(seed):
    room, asked = Classroom(1, seed), jobs(READERS, seed)

    def again(number=1):
        room.press(replace(HEAVY, seed=number), "heavy")
        room.at(room.clock.now + 2.0, lambda: again(number + 1))

    again()
    room.run(room.clock.now + HEAVY_S + 3.0)
    tickets = [room.press(job, f"reader {number}") for number, job in enumerate(asked)]
    room.run(room.clock.now + 60.0)
    assert max(room.first[ticket] for ticket in tickets) <= work_s(asked) + HEAVY_S + LOOK_S


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


def test_a_long_job_among_endless_short_ones_is_begun_in_time():
    room = Classroom(1, seed=0)
    short = jobs(1, 1, odd=0.0)[0]

    def flood(number=0):
        room.press(replace(short, seed=number), f"reader {number}")
        room.at(room.clock.now + 0.8 * gemm_cost(short).first_s, lambda: flood(number + 1))

    flood()
    room.run(room.clock.now + 5.0)
    long = room.press(HEAVY, "long")
    room.run(room.clock.now + 60.0)
    assert room.first[long] < 60.0


def test_the_expected_wait_is_that_of_all_who_come_first_shared_by_the_workers():
    waits = {}
    for workers in (1, 2):
        room = Classroom(workers, seed=4)
        tickets = [room.press(job, f"reader {n}") for n, job in enumerate(jobs(READERS, 4))]
        states = [room.ledger.state(ticket) for ticket in tickets]
        waits[workers] = {ticket.job: state for ticket, state in zip(tickets, states, strict=True)}
    last = max((state.ahead, job) for job, state in waits[1].items() if isinstance(state, Waiting))[1:]
    (job,) = last
    total = sum(gemm_cost(other).first_s for other in waits[1])
    assert waits[1][job].expected_s == pytest.approx(total, rel=0.1)
    assert waits[2][job].expected_s < 0.75 * waits[1][job].expected_s
