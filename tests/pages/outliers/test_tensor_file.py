"""Contract: any file gives the right numbers or one sentence; nothing is unpacked that a header forbids."""

import time
import tomllib
import tracemalloc
from itertools import chain
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from pages.outliers.tensor_file import MAX_BYTES, MAX_MEGABYTES, read_tensor
from tests.pages.outliers.hostile_files import BRAIN, FIVE, HALF, HOSTILE, SOUND, mutated, npy, safetensors

RNG = np.random.default_rng(1)
ALL = (1 << 20, 1 << 20)


def assert_sentence(text: str) -> None:
    assert text[0].isupper() or text[0].isdigit(), text
    assert text.endswith("."), text
    assert text.isprintable(), text
    assert len(text) < 700, text


def outcomes(data: bytes) -> list[str]:
    """The sentences that a file gives; each of its other matrices is sound."""
    try:
        file = read_tensor("x", data)
    except ValueError as problem:
        return [str(problem)]
    sentences = []
    assert all(words.isprintable() for words in (*file.refusals, *(t.words for t in file.tensors)))
    for tensor in file.tensors[:5]:
        try:
            matrix = tensor.matrix(int(RNG.integers(tensor.dims[0])), size=ALL)
        except ValueError as problem:
            sentences.append(str(problem))
        else:
            assert (matrix.dtype, matrix.shape) == (np.float32, tensor.dims[1:])
            assert np.isfinite(matrix).all()
    return sentences


REASONS = {
    "pickle": "A pickle, such as a PyTorch checkpoint, is never opened",
    "complex": "holds complex128",
    "huge shape": "its header needs another number of bytes",
    "safetensors huge shape": "header and numbers do not fit",
    "safetensors booleans": "holds BOOL",
    "safetensors many": "1200 tensors; at most 1000",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_gives_a_sentence_with_its_reason_within_bounded_memory(name) -> None:
    tracemalloc.start()
    sentences = outcomes(HOSTILE[name])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert REASONS.get(name, "") in sentences[0]
    for sentence in sentences:
        assert_sentence(sentence)
    assert peak < MAX_BYTES


def test_mutated_files_give_sentences_or_sound_matrices_and_fast() -> None:
    files = mutated(240)
    tracemalloc.start()
    start = time.process_time()
    sentences = [outcomes(data) for data in files]
    assert time.process_time() - start < 2
    assert tracemalloc.get_traced_memory()[1] < MAX_BYTES
    tracemalloc.stop()
    for sentence in chain(*sentences):
        assert_sentence(sentence)
    share = sum(map(bool, sentences)) / len(sentences)
    assert 0.3 < share < 0.98  # the damage reached the checks, and did not always matter


ARRAYS = ({"array": HALF}, {"array": FIVE}, {"array": BRAIN}, {"w": BRAIN, "x": FIVE})


@pytest.mark.parametrize(("name", "arrays"), [*zip(SOUND, ARRAYS, strict=True)], ids=SOUND)
def test_every_matrix_of_a_sound_file_has_its_numbers(name, arrays) -> None:
    file = read_tensor("x.pkl", SOUND[name])
    assert {tensor.name: tensor.shape for tensor in file.tensors} == {n: a.shape for n, a in arrays.items()}
    for tensor in file.tensors:
        every = arrays[tensor.name].reshape(tensor.dims).astype(np.float32)
        for number, numbers in enumerate(every):
            matrix = tensor.matrix(number, size=ALL)
            assert matrix.flags.c_contiguous
            np.testing.assert_array_equal(matrix, numbers)
        np.testing.assert_array_equal(tensor.matrix(corner=(1, 2), size=(3, 999)), every[0, 1:4, 2:])


TYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">f4", ">i2"]
SMALL_TYPES = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.bfloat16]


@pytest.mark.parametrize("type_", [*TYPES, *SMALL_TYPES], ids=str)
def test_every_type_of_number_is_read(type_) -> None:
    array = np.arange(24).reshape(4, 6).astype(type_)
    files = [npy(array)] if type_ in TYPES else []
    if type_ not in (">f4", ">i2"):
        files.append(safetensors(array=array))
    for data in files:
        (tensor,) = read_tensor("x", data).tensors
        np.testing.assert_array_equal(tensor.matrix(size=ALL), array.astype(np.float32))


def test_a_vector_is_one_row_and_a_file_tells_what_it_leaves_out() -> None:
    file = read_tensor("x", safetensors(v=np.arange(5), step=np.array(3.0), mask=HALF > 0))
    assert [(t.name, t.dims) for t in file.tensors] == [("v", (1, 1, 5))]
    assert file.tensors[0].matrix(size=ALL).tolist() == [[0, 1, 2, 3, 4]]
    assert set(file.refusals) == {
        "“step” has 0 dims; from 1 to 8 can be used",
        "“mask” holds BOOL; floating-point numbers or integers are needed",
    }


def test_the_first_number_that_is_not_finite_is_named() -> None:
    array = np.zeros((4, 6))
    array[2, 3] = 1e39
    (tensor,) = read_tensor("x", npy(array)).tensors
    with pytest.raises(ValueError, match=r"1 of 20 numbers are not finite in fp32: .* in row 2, column 3"):
        tensor.matrix(corner=(0, 1), size=ALL)
    assert tensor.matrix(size=(2, 6)).shape == (2, 6)


def test_a_file_may_be_as_large_as_the_page_says_and_the_server_takes() -> None:
    with pytest.raises(ValueError, match="This file has 5,000,001 bytes"):
        read_tensor("x", bytes(MAX_BYTES + 1))
    config = Path(__file__).resolve().parents[3] / ".streamlit/config.toml"
    assert tomllib.loads(config.read_text())["server"]["maxUploadSize"] > MAX_MEGABYTES
