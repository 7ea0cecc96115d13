"""Uploads that are not what they say, damaged at random and by hand, and sound ones."""

import io
import json
import pickle
import random
import struct
import zipfile
import zlib

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike
from safetensors.numpy import save as save_safetensors

RNG = np.random.default_rng(0)
HALF = RNG.standard_normal((9, 13)).astype(np.float16)
FIVE = RNG.standard_normal((2, 3, 2, 5, 7)).astype(np.float32)
BRAIN = RNG.standard_normal((6, 4)).astype(ml_dtypes.bfloat16)
LARGE = RNG.integers(0, 99, (90, 80))
BOMB_NUMBERS = 60_000_000


def npy(array: ArrayLike, **options: object) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def npz(compressed: bool = True, **arrays: ArrayLike) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **arrays)
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


def zipped(compression: int = zipfile.ZIP_DEFLATED, **members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


def safetensors_of(header: object, body: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def entry(shape: list[int], dtype: str = "F32", start: int = 0, stop: int = 0) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}


SOUND = {
    "half.npy": npy(HALF),
    "five.npy": npy(np.asfortranarray(FIVE)),
    "brain.npy": npy(BRAIN),
    "two.npz": npz(a=HALF, b=FIVE),
    "stored.npz": npz(compressed=False, a=HALF, mask=HALF > 0),
    "brain.safetensors": safetensors(w=BRAIN, x=FIVE),
}


def bomb(head: bytes = plain_npy(f"({BOMB_NUMBERS},)", "'|u1'"), says: int | None = None) -> bytes:
    """An array of zeros that unpacks to far more than it takes, and may say that it does not."""
    zeros = zlib.compressobj(9, wbits=-15)
    parts = [zeros.compress(head)]
    chunk, checksum = bytes(10**6), zlib.crc32(head)
    for _ in range(BOMB_NUMBERS // len(chunk)):
        parts.append(zeros.compress(chunk))
        checksum = zlib.crc32(chunk, checksum)
    packed = b"".join([*parts, zeros.flush()])
    return _raw_zip(packed, checksum, says or len(head) + BOMB_NUMBERS)


def _raw_zip(packed: bytes, checksum: int, size: int, flags: int = 0, name: bytes = b"a.npy") -> bytes:
    """A zip file of one deflated member that may say anything of itself."""
    facts = struct.pack("<HHHHHIIIHH", 20, flags, 8, 0, 0, checksum, len(packed), size, len(name), 0)
    local = b"PK\x03\x04" + facts + name + packed
    directory = b"PK\x01\x02" + struct.pack("<H", 20) + facts + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(directory), len(local), 0)
    return local + directory + end


def _lying(size: int, array: np.ndarray = HALF) -> bytes:
    """A member that says it has another size than it unpacks to."""
    packed = zlib.compress(npy(array))[2:-4]
    return _raw_zip(packed, zlib.crc32(npy(array)), size)


def _many_members() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for i in range(1500):
            archive.writestr(f"{i}.npy", b"")
    return file.getvalue()


HOSTILE = {
    "empty": b"",
    "text": b"hello, I am a tensor",
    "pickle": pickle.dumps(HALF),
    "pickle in npy": npy(np.array([{"a": 1}], dtype=object), allow_pickle=True),
    "pickle in npz": npz(a=np.array([None, "x"], dtype=object)),
    "PyTorch": zipped(data=b"").replace(b"data.npy", b"data.pkl"),
    "records": npy(np.zeros(3, [("a", "f4"), ("b", "i8")])),
    "complex": npy(np.zeros((2, 2), complex)),
    "long double": plain_npy("(2, 2)", "'<f16'", bytes(64)),
    "no number": npy(np.float32(3)),
    "no rows": npy(np.zeros((0, 4), np.float32)),
    "many dims": npy(np.zeros((1,) * 20)),
    "NaN": npy(np.where(HALF > 1, np.nan, HALF)),
    "infinite": npz(a=np.where(HALF > 1, np.inf, HALF)),
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
    "lying small": _lying(20),
    "lying large": _lying(10**9),
    "lying later": _lying(len(npy(LARGE)) - 1, LARGE),
    "cut off": _raw_zip(zlib.compress(npy(LARGE))[2:-400], 1, len(npy(LARGE))),
    "wrong checksum": _raw_zip(zlib.compress(npy(HALF))[2:-4], 1, len(npy(HALF))),
    "encrypted": _raw_zip(zlib.compress(npy(HALF))[2:-4], zlib.crc32(npy(HALF)), len(npy(HALF)), flags=1),
    "name of no letters": _raw_zip(b"\3\0", 0, 0, flags=0x800, name=b"\xff\xfe.npy"),
    "lzma": zipped(zipfile.ZIP_LZMA, a=npy(HALF)),
    "many members": _many_members(),
    "no directory": npz(a=HALF)[:-30],
    "empty zip": zipped(),
    "bomb": bomb(),
    "bomb of a short header": bomb(plain_npy("(30, 40)"), says=20_000),
    "bomb behind an array": bomb(plain_npy("(30, 40)"), says=len(plain_npy("(30, 40)")) + 4800),
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
        # Half of the damage is to headers and directories, which are at the two ends.
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
