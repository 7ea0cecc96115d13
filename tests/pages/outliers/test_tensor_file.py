"""Contract: any file gives the right numbers or one sentence; nothing is unpacked that a header forbids."""

import pickle
import time
import tomllib
import tracemalloc
from itertools import chain
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from pages.outliers.uploads.numpy_files import MAX_UNPACKED_BYTES
from pages.outliers.tensor_file import (
    MAX_BYTES,
    MAX_MEGABYTES,
    MAX_NUMBERS,
    SUFFIXES,
    Kind,
    TensorFile,
    read_tensor,
)
from tests.pages.outliers.hostile_files import (
    BRAIN,
    FIVE,
    HALF,
    HOSTILE,
    SOUND,
    mutated,
    npy,
    npz,
    safetensors,
)

MUTATED = mutated(300 - len(HOSTILE))
RNG = np.random.default_rng(1)


def assert_sentence(text: str) -> None:
    assert text[0].isupper() or text[0].isdigit(), text
    assert text.endswith("."), text
    assert text.isprintable(), text
    assert len(text) < 700, text


def outcomes(data: bytes) -> list[str]:
    """The sentences that a file gives; each of its matrices otherwise is sound."""
    try:
        file = read_tensor("x", data)
    except ValueError as problem:
        return [str(problem)]
    sentences = []
    assert all(words.isprintable() for words in (*file.left_out, *(t.words for t in file.tensors)))
    for tensor in file.tensors[:5]:
        leading = [int(RNG.integers(0, n)) for n in tensor.leading]
        try:
            matrix = file.matrix(tensor.name, leading)
        except ValueError as problem:
            sentences.append(str(problem))
        else:
            assert (matrix.dtype, matrix.shape) == (np.float32, (tensor.rows, tensor.columns))
            assert np.isfinite(matrix).all()
    return sentences


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_gives_a_sentence_within_bounded_memory(name) -> None:
    tracemalloc.start()
    sentences = outcomes(HOSTILE[name])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sentences
    for sentence in sentences:
        assert_sentence(sentence)
    assert peak < MAX_BYTES + MAX_UNPACKED_BYTES // 4


REASONS = {
    "pickle": "This looks like a pickle. It is never opened",
    "pickle in npy": "holds Python objects, a pickle, which is never opened",
    "pickle in npz": "holds Python objects, a pickle, which is never opened",
    "PyTorch": "its pickle is never opened",
    "complex": "holds complex128",
    "huge shape": "its header needs 40,000,000,000,0",
    "endless shape": "a shape of more numbers than any file has",
    "long header": "at most 4,096",
    "too long": "has 363 bytes, where its header needs 362",
    "lying later": "57,727 bytes, where its header needs 57,728",
    "wrong checksum of many": "cannot be unpacked",
    "encrypted": "is encrypted",
    "lzma": "compressed in a way that numpy does not use",
    "one name twice": "two arrays of one name",
    "many members": "its directory may have 65,536 bytes",
    "bomb": "at most 32,000,000 can be used",
    "bomb behind an array": "cannot be unpacked",
    "safetensors header of a lie": "at most 524,288 can be used",
    "safetensors huge shape": "header and numbers do not fit together",
    "safetensors booleans": "holds BOOL",
    "safetensors many": "1200 tensors; at most 1000",
}


@pytest.mark.parametrize("name", REASONS)
def test_the_sentence_gives_the_reason(name) -> None:
    assert REASONS[name] in outcomes(HOSTILE[name])[0]


def test_mutated_files_give_sentences_or_sound_matrices_and_fast() -> None:
    tracemalloc.start()
    start = time.process_time()
    told = [outcomes(data) for data in MUTATED]
    assert time.process_time() - start < 2
    assert tracemalloc.get_traced_memory()[1] < MAX_BYTES
    tracemalloc.stop()
    for sentence in chain(*told):
        assert_sentence(sentence)
    share = sum(map(bool, told)) / len(told)
    assert 0.3 < share < 0.98  # the damage reached the checks, and did not always matter


def expected() -> dict[tuple[str, str], np.ndarray]:
    return {
        ("half.npy", "array"): HALF,
        ("five.npy", "array"): FIVE,
        ("brain.npy", "array"): BRAIN,
        ("two.npz", "a"): HALF,
        ("two.npz", "b"): FIVE,
        ("stored.npz", "a"): HALF,
        ("brain.safetensors", "w"): BRAIN,
        ("brain.safetensors", "x"): FIVE,
    }


@pytest.mark.parametrize(("name", "tensor"), expected())
def test_every_matrix_of_a_sound_file_has_its_numbers(name, tensor) -> None:
    array = expected()[name, tensor]
    file = pickle.loads(pickle.dumps(read_tensor(name, SOUND[name])))
    assert file.tensor(tensor).shape == array.shape
    for leading in np.ndindex(array.shape[:-2]):
        got = file.matrix(tensor, leading)
        assert got.flags.c_contiguous
        np.testing.assert_array_equal(got, array[leading].astype(np.float32))
    part = file.matrix(tensor, (0,) * (array.ndim - 2), corner=(1, 2), size=(3, 999))
    np.testing.assert_array_equal(part, array[(0,) * (array.ndim - 2)][1:4, 2:].astype(np.float32))


TYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">f4", ">i2"]


@pytest.mark.parametrize("type_", TYPES)
def test_every_type_of_number_is_read(type_) -> None:
    array = (
        (RNG.standard_normal((4, 6)) * 50).astype(type_)
        if type_[-2] != "u"
        else np.arange(24, dtype=type_).reshape(4, 6)
    )
    files = [npy(array), npz(array=array)]
    if type_[0] != ">":
        files.append(safetensors(array=array))
    for data in files:
        np.testing.assert_array_equal(read_tensor("x", data).matrix("array"), array.astype(np.float32))


def test_low_precision_in_safetensors_is_read() -> None:
    types = (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.bfloat16)
    arrays = {one.__name__: RNG.standard_normal((4, 6)).astype(one) for one in types}
    file = read_tensor("x", safetensors(**arrays))
    for name, array in arrays.items():
        np.testing.assert_array_equal(file.matrix(name), array.astype(np.float32))


def test_a_vector_is_one_row_and_a_file_tells_what_it_leaves_out() -> None:
    file = read_tensor("x", npz(v=np.arange(5), step=np.float32(3), mask=HALF > 0))
    assert [(t.name, t.rows, t.columns, t.leading) for t in file.tensors] == [("v", 1, 5, ())]
    assert file.matrix("v").tolist() == [[0, 1, 2, 3, 4]]
    assert file.left_out == (
        "“step” is a single number; rows and columns are needed",
        "“mask” holds bool; floating-point numbers or integers are needed",
    )


def test_the_name_of_a_file_counts_for_nothing() -> None:
    kinds = [read_tensor("x.pkl", data).kind for data in SOUND.values()]
    assert kinds == [Kind.NPY] * 3 + [Kind.NPZ] * 2 + [Kind.SAFETENSORS]
    assert {kind.value.removeprefix(".") for kind in Kind} == set(SUFFIXES)
    digests = {read_tensor("x", data).digest for data in SOUND.values()}
    assert len(digests) == len(SOUND)


FILE: TensorFile = read_tensor("x", SOUND["five.npy"])


@pytest.mark.parametrize(
    ("cut", "sentence"),
    [
        (lambda: FILE.matrix("w"), "This file has no tensor “w”."),
        (lambda: FILE.matrix("array"), r"takes 3 indices below \[2, 3, 2\], got \[\]."),
        (lambda: FILE.matrix("array", (0, 3, 0)), r"got \[0, 3, 0\]."),
        (lambda: FILE.matrix("array", (0, -1, 0)), r"got \[0, -1, 0\]."),
        (lambda: FILE.matrix("array", (0, 0, 0), corner=(5, 0)), "The first row is from 0 to 4, got 5."),
        (lambda: FILE.matrix("array", (0, 0, 0), size=(1, 0)), "A part has at least one column, got 0."),
        (
            lambda: read_tensor("x", npy(np.zeros((1, MAX_NUMBERS + 1), np.int8))).matrix("array"),
            "at most 4,194,304 can be used",
        ),
        (lambda: read_tensor("x", bytes(MAX_BYTES + 1)), "This file has 5,000,001 bytes"),
    ],
)
def test_a_part_that_is_not_there_is_refused_in_a_sentence(cut, sentence) -> None:
    with pytest.raises(ValueError, match=sentence) as problem:
        cut()
    assert_sentence(str(problem.value))


def test_the_first_number_that_is_not_finite_is_named() -> None:
    array = np.zeros((4, 6))
    array[2, 3] = 1e39
    file = read_tensor("x", npy(array))
    with pytest.raises(
        ValueError, match="1 of 20 numbers are not finite in fp32: the first, in row 2, column 3"
    ):
        file.matrix("array", corner=(0, 1))
    assert file.matrix("array", size=(2, 6)).shape == (2, 6)


def test_a_file_may_be_as_large_as_the_server_takes() -> None:
    config = Path(__file__).resolve().parents[3] / ".streamlit/config.toml"
    assert tomllib.loads(config.read_text())["server"]["maxUploadSize"] > MAX_MEGABYTES
