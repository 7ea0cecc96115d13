"""Contract: a row survives its file and names its commit; a line that is no row is named."""

import dataclasses
import json
import math
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial

import pytest

from fp8core.recipes import RECIPES, Family
from kernels.gemm.tuned import Tuned
from kernels.layer.timeline.row import TIMELINES
from kernels.measure import records
from kernels.measure.jobs import GemmJob, Into
from kernels.measure.machine import looked_up
from kernels.measure.records import GEMMS, BadLine, Content, Records, read_records
from kernels.measure.rows import Ceilings, Peer, Row
from kernels.precompile import codes_of
from kernels.typed import from_data, to_data
from tests.fp8core.random_recipes import own_text
from tests.kernels.gemm.tuned_rows import SPLIT, row
from tests.kernels.layer.timeline.made_up import without_graph
from tests.kernels.measure.made_up import CEILINGS, DRAWN, JOB, ROW, quantizer_row

WHOLE = json.dumps(to_data(ROW), ensure_ascii=False).encode()
NO_LINES = {
    b"": "the line is not JSON; it may have been cut off",
    bytes(40): "the line is not JSON; it may have been cut off",
    WHOLE[:-1]: "the line is not JSON; it may have been cut off",
    WHOLE[:300] + WHOLE: "the line is not JSON; it may have been cut off",
    b"[" * 200_000: "the line is not JSON; it may have been cut off",
    b"\xff" + WHOLE: "the line is not JSON; it may have been cut off",
    b"[]": "this is no Row: Expected `object`, got `array`",
    b"{}": "this is no Row: Object missing required field `machine`",
}
OTHER_VALUES = (None, True, "text", -1, 0, 1.5, math.nan, math.inf, 10**400, [], [3], {}, {"x": 1})


@pytest.mark.parametrize(
    ("files", "row", "path"),
    [
        (GEMMS, ROW, "a_gpu.jsonl"),
        (records.CEILINGS, CEILINGS, "ceilings/a_gpu.jsonl"),
        (records.RANDOM_SHAPES, DRAWN, "any_shape/a_gpu.jsonl"),
        (records.QUANTIZERS, quantizer_row(), "quantizers/nvidia_h200.jsonl"),
        (TIMELINES, without_graph(), "nvidia_h200.jsonl"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_rows_come_back_from_their_gpu_s_file(files, row, path, tmp_path):
    assert [files.record(row, tmp_path) for _ in range(2)] == [tmp_path / path] * 2
    assert files.read(tmp_path) == Content(rows=(row, row), bad=())


@pytest.mark.parametrize(("line", "reason"), NO_LINES.items(), ids=lambda value: str(value[:12]))
def test_a_line_that_is_no_row_is_named_and_the_others_are_read(tmp_path, line, reason):
    path = GEMMS.record(ROW, tmp_path)
    path.write_bytes(path.read_bytes() + line + b"\n" + WHOLE + b"\n")
    bad = BadLine(file="a_gpu.jsonl", line=2, reason=reason)
    assert read_records(tmp_path) == Records(rows=(ROW, ROW), ceilings=(), bad=(bad,))
    assert str(bad) == f"a_gpu.jsonl, line 2: {reason}"


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
        figures = (
            found.tflop_s,
            found.gb_s,
            found.over(Peer.BF16),
            found.over_bf16_with_quantize,
            found.ratio,
        )
        assert all(figure is None or isinstance(figure, float) for figure in figures)
        assert found.date + found.kernel + found.why + found.job.title
        bands = found.errors.error_map if found.errors else ()
        assert all(isinstance(patch, int | float) for band in bands for patch in band)
    elif isinstance(found, Ceilings):
        assert found.rate(Peer.COPY) > 0
    json.dumps(to_data(found))


@pytest.mark.parametrize(
    ("good", "read"),
    [
        (to_data(ROW), partial(from_data, Row)),
        (to_data(CEILINGS), partial(from_data, Ceilings)),
        (to_data(row(SPLIT, 9.0)), partial(from_data, Tuned)),
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


OWN = own_text(RECIPES["mxfp6_e3m2"])


def test_a_job_carries_the_whole_of_a_recipe_of_ones_own() -> None:
    own = dataclasses.replace(JOB, recipe="own", own=OWN)
    assert from_data(GemmJob, json.loads(json.dumps(to_data(own)))) == own
    assert own.recipe_data.fprop == RECIPES["mxfp6_e3m2"].fprop
    assert (own.recipe_data.name, own.recipe_data.family) == ("own", Family.OWN)
    assert codes_of(own)[1][1].recipe_data == own.recipe_data
    assert codes_of(dataclasses.replace(own, own=own_text(RECIPES["mxfp4"]))) != codes_of(own)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"own": OWN}, "a line of an own recipe comes with the recipe own, got 'mxfp8'"),
        ({"recipe": "own"}, "a recipe's line has up to 12 operands"),
        ({"recipe": "own", "own": OWN.replace("e3m2", "e9m9")}, r"fprop\.a\.format is one of e4m3"),
        ({"recipe": "nope"}, "unknown recipe 'nope'; there are per_tensor"),
        ({"matmul": "sgrad"}, "unknown matmul 'sgrad'; there are fprop, dgrad, wgrad"),
        ({"m": -1}, "M is a whole number from 0 to 262144, got -1"),
        ({"k": 262145}, "K is a whole number from 0 to 262144, got 262145"),
        ({"n": 1.5}, "N is a whole number"),
        ({"n": True}, "N is a whole number"),
        ({"seed": -1}, "seed is a whole number"),
        ({"runs": 0}, "runs is a whole number from 1 to 1000, got 0"),
        ({"settle_ms": -1}, "settle_ms is a whole number from 0 to 1000, got -1"),
        ({"turn_ms": 0}, "turn_ms is a whole number from 1 to 1000, got 0"),
        ({"matmul": "fprop", "into": Into.ACCUMULATE}, "needs an fp32 D, and Fprop of MXFP8 writes bf16"),
    ],
    ids=str,
)
def test_what_is_not_a_job_is_refused(change, sentence) -> None:
    with pytest.raises(ValueError, match=sentence):
        dataclasses.replace(JOB, **change)
    with pytest.raises(ValueError, match=r"^this is no GemmJob: "):
        from_data(GemmJob, {**to_data(JOB), **change})


@pytest.fixture
def checkout(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("there is no git here")

    def git(*asked):
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        done = subprocess.run(("git", "-C", str(tmp_path), *who, *asked), check=True, capture_output=True)
        return done.stdout.decode().strip()

    git("init", "-q")
    (tmp_path / "code").write_text("1")
    git("add", "code")
    git("commit", "-qm", "one")
    return tmp_path, git


def test_a_checkout_s_commit_is_gits_with_a_plus_once_a_file_has_changed(checkout):
    folder, git = checkout
    known = git("rev-parse", "--short", "HEAD")
    (folder / "new").write_text("nobody tracks this")
    assert looked_up(folder, folder / "stamp") == known
    (folder / "code").write_text("2")
    assert looked_up(folder, folder / "stamp") == f"{known}+"
