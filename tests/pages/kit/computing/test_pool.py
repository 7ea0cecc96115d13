"""Facts about the pool of processes."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from pages.kit.computing.pool import Answer, Call, Pool
from tests.pages.kit.computing import pool_calls

LONG = 30.0
BEFORE = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}


@pytest.fixture(scope="module")
def shared():
    pool = Pool(1, bytes_limit=10_000)
    yield pool
    pool.close()


def answers(pool: Pool, calls: list[Call], asker: str = "me") -> list[Answer | None]:
    pool.ask(asker, calls)
    assert pool.wait(asker, LONG)
    return pool.ask(asker, calls)


def test_a_process_works_behind_the_server_with_one_thread(shared):
    (answer,) = answers(shared, [Call(pool_calls.process)])
    number, niceness, threads = answer.value
    assert number != os.getpid()
    assert niceness > os.nice(0)
    assert threads == "1"
    assert {name: os.environ.get(name) for name in BEFORE} == BEFORE


def test_one_and_one_point_zero_are_different_arguments(shared):
    values = answers(shared, [Call(pool_calls.tagged, (x,)) for x in (1, 1.0, True)])
    assert [answer.value for answer in values] == ["int 1", "float 1.0", "bool True"]


def test_an_equal_call_of_another_session_is_not_computed_again(shared, tmp_path):
    call = Call(pool_calls.logged, (str(tmp_path / "log"), "a", 0.2))
    shared.ask("first", [call])
    shared.ask("second", [call])
    assert shared.wait("first", LONG)
    assert shared.wait("second", LONG)
    assert answers(shared, [call], "third")[0].value == "a"
    assert (tmp_path / "log").read_text() == "a\n"


def test_a_newer_change_takes_the_place_of_a_waiting_one(shared, tmp_path):
    log, gate = str(tmp_path / "log"), tmp_path / "gate"
    shared.ask("other", [Call(pool_calls.held, (str(gate),))])
    for tag in ("older", "newest"):
        shared.ask("me", [Call(pool_calls.logged, (log, tag))])
    gate.touch()
    assert shared.wait("me", LONG)
    assert Path(log).read_text() == "newest\n"


def test_sessions_take_turns(shared, tmp_path):
    log, gate = str(tmp_path / "log"), tmp_path / "gate"
    shared.ask("other", [Call(pool_calls.held, (str(gate),))])
    shared.ask("greedy", [Call(pool_calls.logged, (log, f"greedy {n}")) for n in range(4)])
    shared.ask("modest", [Call(pool_calls.logged, (log, "modest"))])
    gate.touch()
    assert shared.wait("greedy", LONG)
    assert Path(log).read_text().splitlines().index("modest") <= 1


def test_a_refusal_is_a_sentence(shared):
    assert answers(shared, [Call(pool_calls.refused, (7,))]) == [Answer(failure="x is at most 3, got 7")]


def test_a_fault_of_the_program_is_told_and_holds_nobody_up(shared):
    bad, good = answers(shared, [Call(pool_calls.broken), Call(pool_calls.doubled, (4.0,))])
    assert isinstance(bad.fault, TypeError)
    assert good.value == 8.0


def test_a_call_whose_process_is_killed_is_tried_again(shared, tmp_path):
    assert answers(shared, [Call(pool_calls.killed_once, (str(tmp_path / "once"),))])[0].value == "came back"


def test_a_call_that_kills_every_process_is_refused_and_the_others_go_on(shared):
    bad, good = answers(shared, [Call(pool_calls.killed), Call(pool_calls.doubled, (21.0,))])
    assert "ended twice" in bad.failure
    assert good.value == 42.0


def test_a_process_killed_while_it_sends_keeps_no_other_waiting():
    pool = Pool(2)
    try:
        (bad,) = answers(pool, [Call(pool_calls.killed_in_sending, (64 << 20,))])
        assert "ended twice" in bad.failure
        values = answers(pool, [Call(pool_calls.doubled, (x,)) for x in (1.0, 2.0, 3.0)])
        assert [answer.value for answer in values] == [2.0, 4.0, 6.0]
    finally:
        pool.close()


def test_a_process_killed_while_idle_costs_no_call(shared):
    shared.forget([Call(pool_calls.process)])
    (answer,) = answers(shared, [Call(pool_calls.process)])
    os.kill(answer.value[0], signal.SIGKILL)
    assert answers(shared, [Call(pool_calls.doubled, (0.5,))])[0].value == 1.0


def test_the_answer_read_longest_ago_makes_room_and_large_arguments_count_like_answers(shared):
    for size in (4_000, 4_001):
        assert len(answers(shared, [Call(pool_calls.bytes_of, (size,))])[0].value) == size
    assert answers(shared, [Call(pool_calls.tagged, (pool_calls.Large(9_000),))])[0].value
    assert shared.ask("late", [Call(pool_calls.bytes_of, (4_000,))]) == [None]
    assert shared.wait("late", LONG)
    for call in (Call(pool_calls.tagged, (pool_calls.Large(20_000),)), Call(pool_calls.bytes_of, (20_000,))):
        assert "and 10,000 are kept at most" in answers(shared, [call])[0].failure


def test_a_call_has_a_time_limit_and_no_process_outlives_its_pool():
    pool = Pool(1, longest_s=0.3)
    try:
        (answer,) = answers(pool, [Call(pool_calls.slept, (60.0, "never"))])
        assert "longer than 0.3 s" in answer.failure
        (mine,) = answers(pool, [Call(pool_calls.process)])
    finally:
        pool.close()
    assert not psutil.pid_exists(mine.value[0])
