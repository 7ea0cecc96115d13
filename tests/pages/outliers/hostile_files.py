"""Uploads that are not what they say, damaged at random and by hand, and sound ones."""

import io
import json
import pickle
import random
import struct

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike
from safetensors.numpy import save as save_safetensors

RNG = np.random.default_rng(0)
HALF = RNG.standard_normal((9, 13)).astype(np.float16)
FIVE = RNG.standard_normal((2, 3, 2, 5, 7)).astype(np.float32)
BRAIN = RNG.standard_normal((6, 4)).astype(ml_dtypes.bfloat16)


def npy(array: ArrayLike, **options: object) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def safetensors(**arrays: np.ndarray) -> bytes:
    return save_safetensors(arrays)


def npy_of(header: str, body: bytes = b"", version: int = 1) -> bytes:
    """An .npy file with any header."""
    text = header.encode("latin1")
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + body


def plain_npy(shape: str, descr: str = "'<f4'", body: bytes = b"") -> bytes:
    return npy_of(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}", body)


def safetensors_of(header: object, body: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def entry(shape: list[int], dtype: str = "F32", start: int = 0, stop: int = 0) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}


SOUND = {
    "half.npy": npy(HALF),
    "five.npy": npy(np.asfortranarray(FIVE)),
    "brain.npy": npy(BRAIN),
    "brain.safetensors": safetensors(w=BRAIN, x=FIVE),
}


HOSTILE = {
    "empty": b"",
    "text": b"hello, I am a tensor",
    "pickle": pickle.dumps(HALF),
    "pickle in npy": npy(np.array([{"a": 1}], dtype=object), allow_pickle=True),
    "records": npy(np.zeros(3, [("a", "f4"), ("b", "i8")])),
    "complex": npy(np.zeros((2, 2), complex)),
    "long double": plain_npy("(2, 2)", "'<f16'", bytes(64)),
    "no number": npy(np.float32(3)),
    "no rows": npy(np.zeros((0, 4), np.float32)),
    "many dims": npy(np.zeros((1,) * 20)),
    "NaN": npy(np.where(HALF > 1, np.nan, HALF)),
    "infinite": npy(np.where(HALF > 1, np.inf, HALF)),
    "beyond fp32": npy(np.full((2, 2), 1e300)),
    "huge shape": plain_npy("(10000000, 1000000)"),
    "endless shape": plain_npy(f"({10**300}, 3)"),
    "overflowing shape": plain_npy("(4294967296, 4294967296)"),
    "negative shape": plain_npy("(-1, 4)", body=bytes(16)),
    "a call": npy_of("__import__('os').system('true')", bytes(16)),
    "nested header": npy_of("(" * 4000, bytes(16)),
    "deep header": npy_of("-" * 4000 + "1", bytes(16)),
    "long header": npy_of(" " * 5000, bytes(16)),
    "type of Python": plain_npy("(2, 2)", "{}", bytes(16)),
    "version 9": npy_of("{}", b"", 9),
    "too short": npy(HALF)[:-1],
    "too long": npy(HALF) + b"\0",
    "safetensors header of a lie": safetensors_of(b"{", length=10**6),
    "safetensors header without end": safetensors_of(b"{", length=2**63),
    "safetensors no JSON": safetensors_of(b"{{{{"),
    "safetensors deep": safetensors_of(b'{"a":' * 4000),
    "safetensors nothing": safetensors_of({}),
    "safetensors huge shape": safetensors_of({"a": entry([2**40, 2**40])}),
    "safetensors booleans": safetensors_of({"a": entry([2, 2], "BOOL", stop=4)}, bytes(4)),
    "safetensors NaN": safetensors(a=np.full((2, 2), np.nan, np.float32)),
    "safetensors 0-d": safetensors(a=np.array(3.0, np.float32)),
    "safetensors many": safetensors(**{f"t{i}": HALF[:1] for i in range(1200)}),
}


def mutated(count: int) -> list[bytes]:
    """Sound files with bytes changed, cut out or exchanged between files, or their end cut off."""
    random_ = random.Random(0)
    sound = list(SOUND.values())
    files = []
    for _ in range(count):
        data = bytearray(random_.choice(sound))
        # Half of the damage is to headers, or to the end.
        for _ in range(random_.choice((1, 1, 2, 5))):
            near = random_.choice((len(data), min(len(data), 130)))
            at = (
                random_.randrange(near) if random_.random() < 0.7 else len(data) - 1 - random_.randrange(near)
            )
            match random_.randrange(3):
                case 0:
                    data[at] = random_.randrange(256)
                case 1:
                    del data[at : at + random_.randrange(1, 9)]
                case 2:
                    other = random_.choice(sound)
                    data[at : at + 8] = other[at % len(other) :][:8]
            data = data or bytearray(b"\0")
        files.append(bytes(data[: random_.randrange(len(data))] if random_.random() < 0.15 else data))
    return files
