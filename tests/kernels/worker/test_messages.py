"""What parent and worker say survives the pipe, and what is no message is refused with a ValueError."""

import json

import pytest

from fp8core.experiments.dot_terms import TermKind
from kernels.device import HOPPER
from kernels.layer.timeline.row import LeftOut, Timeline, Way
from kernels.measure.rows import Machine
from kernels.probe.sweep import ProbeJob, ProbeRow
from kernels.worker.jobs import KINDS, kind_of
from kernels.worker.messages import (
    Began,
    Do,
    Finished,
    Halted,
    Progress,
    Ready,
    Refused,
    Stop,
    WarmUp,
    decode,
    encode,
)
from tests.kernels.check.reports import REPORT
from tests.kernels.layer.timeline.steps import JOB, every_way
from tests.kernels.measure.made_up import CEILINGS, DRAW
from tests.kernels.train.made_up import ROW as RUN
from tests.kernels.worker.stand_in import Act, job, row

MESSAGES = [
    Do(1, job(Act.FINE)),
    Do(1, job(Act.FINE), None, (job(Act.SLOW), job(Act.FINE, 3)), simple_first=True),
    Stop(1),
    WarmUp(),
    Ready(),
    Ready(HOPPER),
    Began(1),
    Progress(1, 0.5, "timing\nbf16"),
    Progress(1, 0.5, "copy bandwidth", REPORT),
    Finished(1, row(job(Act.FINE))),
    Refused(1, "no"),
    Halted(1),
]
NO_MESSAGES = [
    "",
    "hello\n",
    "[]",
    "3",
    "null",
    '{"say": "nothing"}',
    '{"say": []}',
    "[" * 200_000,
    '{"say": "ready", "gpu": ' + "[" * 200_000,
    '{"say": "stop"}',
    '{"say": "stop", "run": 1, "more": 2}',
    '{"say": "do", "run": 1, "job": 3}',
    '{"say": "do", "run": 1, "job": {"recipe": "none"}}',
    '{"say": "finished", "run": 1, "row": {"job": {}}}',
    '{"say": "finished", "run": 1, "row": 7}',
    '{"say": "finished", "run": 1, "row": null}',
    '{"say": "progress", "run": 1, "fraction": 0.5, "note": "", "partial": 7}',
    '{"say": "progress", "run": 1, "fraction": NaN, "note": ""}',
    '{"say": "progress", "run": 1, "fraction": 1.5, "note": ""}',
    '{"say": "began", "run": "1"}',
    '{"say": "refused", "run": 1, "reason": null}',
]
ODD = {"odd": 1}
"""A value of no field's type."""


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_is_one_line_and_comes_back_equal(message):
    line = encode(message)
    assert line.count("\n") == 1
    assert decode(line) == message


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_field_of_another_type_is_refused(message):
    fields = json.loads(encode(message))
    inside = {name: value for name, value in fields.items() if isinstance(value, dict)}
    wrong = [fields | {name: ODD} for name in fields]
    wrong += [fields | {name: part | {key: ODD}} for name, part in inside.items() for key in part]
    for one in wrong:
        with pytest.raises(ValueError, match=r"."):
            decode(json.dumps(one))


@pytest.mark.parametrize("line", NO_MESSAGES, ids=lambda line: line[:60])
def test_what_is_no_message_is_refused(line):
    with pytest.raises(ValueError, match=r"."):
        decode(line)


PROBE = ProbeJob(operation="wgmma", terms=TermKind.SAME_SIGN, format="e4m3", seed=3, longest=256)
SWEPT = ProbeRow(
    job=PROBE,
    machine=Machine(name="NVIDIA H200", capability=(9, 0), versions={"torch": "2.11.0"}),
    date="2026-11-20",
    outputs=2048,
    mismatches=0,
)
EXAMPLES = {
    "gemm": (job(Act.FINE), row(job(Act.FINE))),
    "probe": (PROBE, SWEPT),
    "ceilings": (CEILINGS.job, CEILINGS),
    "check": (REPORT.job, REPORT),
    "any_shape": (DRAW.job, DRAW),
    "train": (RUN.job, RUN),
    "timeline": (
        JOB,
        Timeline(job=JOB, rows=tuple(every_way()), left_out=(LeftOut(way=Way.NAIVE, reason="none"),)),
    ),
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_job_and_its_result_survive_the_pipe(kind):
    asked, came = EXAMPLES[kind.name]
    assert (kind_of(asked), kind_of(came)) == (kind, kind)
    assert decode(encode(Do(1, asked))) == Do(1, asked)
    assert decode(encode(Finished(1, came))) == Finished(1, came)
    assert asked.title
    assert "smaller" in asked.size_advice
    assert asked.size
