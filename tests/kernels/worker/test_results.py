"""Contract: kept results are bounded in number and in bytes, and nobody loses one to results that others do
not fetch.
"""

from kernels.worker.results import Answers, Mailbox, Room, size_of
from kernels.worker.states import Done, Failed, Ticket
from tests.kernels.worker.stand_in import Act, job, row

END = Done(row(job(Act.FINE)))


def ticket(number: int) -> Ticket:
    return Ticket(number, job(Act.FINE))


def test_results_that_nobody_fetches_do_not_push_out_one_that_somebody_waits_for():
    gone = {f"ghost {number}" for number in range(99)}
    box = Mailbox(Room(results=10), lambda session: session not in gone)
    box.put(ticket(0), "living", END, 1)
    for number in range(1, 60):
        box.put(ticket(number), f"ghost {number}", END, 1)
        box.put(ticket(100 + number), "greedy", END, 1)
    assert box.get(ticket(0)) is END
    assert sum(box.get(ticket(number)) is not None for number in range(200)) == 10


def test_what_was_fetched_goes_first():
    box = Mailbox(Room(results=2), lambda session: True)
    for number in (1, 2):
        box.put(ticket(number), f"session {number}", END, 1)
    box.get(ticket(2))
    box.put(ticket(3), "session 3", END, 1)
    assert [box.get(ticket(number)) for number in (1, 2, 3)] == [END, None, END]


def test_results_are_bounded_in_bytes():
    size = size_of(END)
    assert size > 500
    assert size_of(Failed("no")) == 0
    box = Mailbox(Room(bytes=3 * size), lambda session: False)
    answers = Answers(Room(bytes=3 * size))
    for number in range(9):
        box.put(ticket(number), "s", END, size)
        answers.put(job(Act.FINE, m=number), END.row, 0.0, size)
    assert sum(box.get(ticket(number)) is not None for number in range(9)) == 3
    assert [number for number in range(9) if answers.get(job(Act.FINE, m=number))] == [6, 7, 8]


def test_the_newest_answer_to_a_job_counts_and_the_one_used_longest_ago_goes():
    answers = Answers(Room(results=2))
    for then in (1.0, 2.0):
        answers.put(job(Act.FINE, m=1), END.row, then, 1)
    answers.put(job(Act.FINE, m=2), END.row, 3.0, 1)
    assert answers.get(job(Act.FINE, m=1)) == (END.row, 2.0)
    answers.put(job(Act.FINE, m=3), END.row, 4.0, 1)
    assert answers.get(job(Act.FINE, m=2)) is None
    assert answers.get(job(Act.FINE, m=1)) is not None
