"""Contract: a recorded file's readable lines are read, and each other line is named with what is wrong."""

import json
import math
from collections.abc import Iterator
from functools import partial

import pytest

from kernels.bench.ceilings import Ceilings
from kernels.bench.records import BadLine, Records, read_records, record, recorded_rows
from kernels.bench.row import Row
from kernels.gemm.tuned import Tuned
from kernels.typed import from_data, to_data
from tests.kernels.bench.made_up import CEILINGS, ROW
from tests.kernels.gemm.tuned_rows import MEASUREMENT, SPLIT, row

WHOLE = json.dumps(to_data(ROW), ensure_ascii=False).encode()
NO_LINES = {
    b"": "the line is empty",
    b"  \t": "the line is empty",
    bytes(40): "the line is not JSON; it may have been cut off",
    WHOLE[:-1]: "the line is not JSON; it may have been cut off",
    WHOLE[:300] + WHOLE: "the line is not JSON; it may have been cut off",
    b"[" * 200_000: "the line is not JSON; it may have been cut off",
    b"\xff" + WHOLE: "the line is not UTF-8 text",
    b"[]": "the line holds a JSON list, and a measurement is an object",
    b"null": "the line holds a JSON NoneType, and a measurement is an object",
    b"{}": "this is no Row: Object missing required field `job`",
}
OTHER_VALUES = (None, True, "text", -1, 0, 1.5, math.nan, math.inf, 10**400, [], [3], {}, {"x": 1})


@pytest.mark.parametrize(("line", "reason"), NO_LINES.items(), ids=lambda value: str(value[:12]))
def test_a_line_that_is_no_row_is_named_and_the_others_are_read(tmp_path, line, reason):
    path = record(ROW, tmp_path)
    path.write_bytes(path.read_bytes() + line + b"\n" + WHOLE + b"\n")
    bad = BadLine(file="a_gpu.jsonl", line=2, reason=reason)
    assert read_records(tmp_path) == Records(rows=(ROW, ROW), ceilings=(), bad=(bad,))
    assert str(bad) == f"a_gpu.jsonl, line 2: {reason}"
    assert recorded_rows(tmp_path) == (ROW, ROW)


def test_a_file_that_cannot_be_read_is_named_and_an_empty_one_has_no_lines(tmp_path):
    assert read_records(tmp_path / "none") == Records(rows=(), ceilings=(), bad=())
    (tmp_path / "a.jsonl").mkdir()
    (tmp_path / "b.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / "c.jsonl").touch()
    (tmp_path / "d.jsonl").write_bytes(WHOLE)
    found = read_records(tmp_path)
    assert found.rows == (ROW,)
    assert [(bad.file, bad.line) for bad in found.bad] == [("a.jsonl", None), ("b.jsonl", None)]
    assert str(found.bad[1]) == "b.jsonl: the file could not be read: No such file or directory"


def places(data: object, path: tuple = ()) -> Iterator[tuple]:
    """The path of every value in nested objects and lists."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def with_value(data: dict, path: tuple, value: object) -> dict:
    """A copy in which one value is another."""
    copy = json.loads(json.dumps(data))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return copy


def shown(found: Row | Ceilings | Tuned) -> None:
    """Everything that is derived from a measurement, as a page or a plan does."""
    if isinstance(found, Row):
        figures = (found.sqnr_db, found.tflop_s, found.gb_s, found.times_bf16, found.times_bf16_with_quantize)
        assert all(figure is None or isinstance(figure, float) for figure in figures)
        assert found.date + found.kernel + found.why + found.job.title
        assert all(isinstance(patch, int | float) for band in found.error_map for patch in band)
    elif isinstance(found, Ceilings):
        assert found.copy_gb_s.median > 0
    json.dumps(found.written() if isinstance(found, Tuned) else to_data(found))


@pytest.mark.parametrize(
    ("good", "read"),
    [
        (to_data(ROW), partial(from_data, Row)),
        (to_data(CEILINGS), partial(from_data, Ceilings)),
        (row(SPLIT, 9.0).written(), lambda data: Tuned.read(data, MEASUREMENT)),
    ],
    ids=["row", "ceilings", "tuned"],
)
def test_any_value_exchanged_for_any_other_is_read_as_its_type_or_refused(good, read):
    good = json.loads(json.dumps(good))
    refused = []
    for path in places(good):
        for value in OTHER_VALUES:
            try:
                found = read(with_value(good, path, value))
            except ValueError as error:
                refused.append(str(error))
                continue
            shown(found)
    assert len(refused) > len(OTHER_VALUES)
    assert not [told for told in refused if "\n" in told]
