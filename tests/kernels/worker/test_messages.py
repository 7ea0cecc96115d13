"""What parent and worker say survives the pipe, and what is no message is refused with a ValueError."""

import json

import pytest

from kernels.worker.messages import (
    Began,
    Do,
    Finished,
    Halted,
    Progress,
    Ready,
    Refused,
    Stop,
    decode,
    encode,
)
from tests.kernels.check.reports import REPORT
from tests.kernels.worker.stand_in import Act, job, row

MESSAGES = [
    Do(1, job(Act.FINE)),
    Do(1, job(Act.FINE), None, (job(Act.SLOW), job(Act.FINE, 3))),
    Stop(1),
    Ready("NVIDIA H200"),
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
    '{"say": "ready", "device": ' + "[" * 200_000,
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
