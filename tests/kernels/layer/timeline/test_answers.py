"""Contract: the worker times first what a reader waits for, tells of it, and goes on from what it has."""

from dataclasses import replace

import pytest

from kernels.layer.timeline import Timeline, Way, answers
from tests.kernels.layer.timeline.made_up import JOB, ROW


@pytest.fixture
def parts(monkeypatch):
    """The ways of each run; nothing is measured."""
    taken: list[tuple[Way, ...]] = []

    def measured(job, *, progress, stopped, so_far, ways):
        had = {row.way for row in so_far.rows}
        taken.append(tuple(way for way in ways if way not in had))
        progress(0.5, "half")
        return replace(so_far, rows=(*so_far.rows, *(replace(ROW, way=way) for way in taken[-1])))

    monkeypatch.setattr(answers, "measured", measured)
    return taken


def run(so_far=None):
    told = []
    made = answers.measure(JOB, progress=lambda *given: told.append(given), stopped=bool, so_far=so_far)
    assert {row.way for row in made.rows} == set(Way)
    return told


def test_what_torch_compiles_comes_last_and_the_rest_is_told_before(parts):
    told = run()
    assert parts[0] == (Way.BF16, Way.OURS, Way.OURS_KEPT, Way.BOUND)
    assert parts[-1] == (Way.COMPILED,)
    shares = [done for done, *_ in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert [len(part.rows) for _, _, part in told if part] == [4, 5, 6]


def test_a_job_goes_on_from_its_first_part(parts):
    rows = tuple(replace(ROW, way=way) for way in (Way.BF16, Way.OURS, Way.OURS_KEPT, Way.BOUND))
    run(Timeline(job=JOB, rows=rows))
    assert parts == [(), (Way.NAIVE,), (Way.COMPILED,)]
