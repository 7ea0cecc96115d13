"""Contract: no file is ever left half written, whatever the disk takes."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from kernels.files import append_line, replace_file
from kernels.measure.tune import merge_into
from kernels.paths import VECTORS
from kernels.probe.operations import read_machine, read_vectors, write_vectors
from tests.kernels.gemm.tuned_rows import FAST, SPLIT, row


@contextmanager
def files_at_most(size: int) -> Iterator[None]:
    """Files of this process grow to `size` bytes: a write across is cut off, one beyond raises OSError."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


LINE = b"0123456789"


@pytest.mark.parametrize("room", range(len(LINE) + 1))
def test_a_line_that_does_not_fit_leaves_the_file_as_it_was(tmp_path, room):
    path = tmp_path / "a.jsonl"
    append_line(path, b"first")
    with files_at_most(len(b"first\n") + room), pytest.raises(OSError, match=r"Errno"):
        append_line(path, LINE)
    assert path.read_bytes() == b"first\n"
    append_line(path, LINE)
    assert path.read_bytes() == b"first\n" + LINE + b"\n"


def test_a_line_after_one_that_was_cut_off_begins_anew(tmp_path):
    path = tmp_path / "new" / "a.jsonl"
    append_line(path, LINE)
    path.write_bytes(path.read_bytes() + b'{"cut')
    append_line(path, LINE)
    assert path.read_bytes().split(b"\n") == [LINE, b'{"cut', LINE, b""]


def test_a_file_that_cannot_be_replaced_is_as_it_was_and_leaves_no_part(tmp_path):
    path = tmp_path / "a"
    replace_file(path, b"old")
    with files_at_most(10), pytest.raises(OSError, match="Errno"):
        replace_file(path, bytes(100))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_table_and_vectors_survive_a_full_disk(tmp_path):
    table, vectors = tmp_path / "sm_90.json", tmp_path / "x.npz"
    merge_into(table, [row(SPLIT, 9.0)])
    captured = list(read_vectors(min(VECTORS.glob("*.npz"))))[:1]
    write_vectors(vectors, captured, {"gpu": "a GPU"})
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    writes = (
        lambda: merge_into(table, [row(FAST, 8.0)]),
        lambda: write_vectors(vectors, captured, {"gpu": "another"}),
    )
    for write in writes:
        with files_at_most(50), pytest.raises(OSError, match="Errno"):
            write()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert read_machine(vectors) == {"gpu": "a GPU"}


@pytest.mark.parametrize(
    "arrays",
    [
        {"machine": np.array("[]")},
        {"machine": np.array("{"), "x": np.zeros(3)},
        {"machine": np.array("{}"), "wgmma/e4m3/e4m3/normal/zero/32/a": np.zeros((1, 32), np.uint8)},
        {"machine": np.array({}, dtype=object), "x": np.array([None])},
    ],
    ids=["a list", "no JSON", "parts missing", "pickled"],
)
def test_a_file_of_other_arrays_is_no_file_of_vectors(tmp_path, arrays):
    np.savez(tmp_path / "other.npz", **arrays)
    with pytest.raises(ValueError, match=r"^other\.npz holds no captured vectors: "):
        assert [read_machine(tmp_path / "other.npz"), *read_vectors(tmp_path / "other.npz")]
