"""Contract: a recorded file's readable lines are read, and each other line is named with what is wrong."""

import json
import math
from collections.abc import Iterator
from functools import partial

import pytest

from kernels.bench.ceilings import Ceilings
from kernels.bench.records import BadLine, Records, read_records, record, recorded_ceilings, recorded_rows
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


def test_ceilings_are_read_beside_lines_that_are_none(tmp_path):
    path = record(CEILINGS, tmp_path)
    path.write_bytes(b'{"job": {"runs": 5}, "machine": 3}\n' + path.read_bytes())
    (bad,) = read_records(tmp_path).bad
    assert (bad.file, bad.line) == ("a_gpu.jsonl", 1)
    assert bad.reason.startswith("this is no Ceilings: ")
    assert recorded_ceilings(tmp_path) == (CEILINGS,)


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


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("gemm", "median_us"), "2", r"Expected `float`, got `str` - at `\$.gemm.median_us`"),
        (("gemm", "median_us"), 0, r"Expected `float` > 0.0 - at `\$.gemm.median_us`"),
        (("gemm", "p20_us"), math.nan, r"Expected `float` > 0.0 - at `\$.gemm.p20_us`"),
        (("gemm", "p80_us"), math.inf, r"Expected `float` <= 1.7976931348623157e\+308 - at `\$.gemm.p80_us`"),
        (("gemm",), [1], r"Expected `object \| null`, got `array` - at `\$.gemm`"),
        (("gemm", "color"), 1, r"Object contains unknown field `color` - at `\$.gemm`"),
        (("machine", "versions"), {"torch": 2}, r"Expected `str`, got `int` - at `\$.machine.versions"),
        (("machine", "capability"), [9], r"Expected `array` of length 2, got 1 - at `\$.machine.capability`"),
        (("error_map", 0), [0.1], "the bands of error_map differ in length"),
        (("date",), None, r"Expected `str`, got `null` - at `\$.date`"),
        (("rel_err",), -0.5, "an error is 0 or more"),
        (("worst", 0, "m"), 1.5, r"Expected `int`, got `float` - at `\$.worst\[0\].m`"),
        (("worst", 0, "x"), 1.5, r"Object contains unknown field `x` - at `\$.worst\[0\]`"),
        (("bytes",), 2**63, r"Expected `int` <= 9223372036854775807 - at `\$.bytes`"),
        (("job", "recipe"), "mine", r"unknown recipe 'mine'; there are .* - at `\$.job`"),
    ],
    ids=str,
)
def test_a_value_of_another_type_is_refused_by_its_name(path, value, sentence):
    with pytest.raises(ValueError, match=f"^this is no Row: .*{sentence}"):
        from_data(Row, with_value(json.loads(WHOLE), path, value))
