"""One right answer to each exercise, written without fp8core; and wrong ones, each with a common mistake."""

import math

import ml_dtypes
import numpy as np

E4M3, E2M1 = ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn
LARGEST, TINY = np.float32(448), np.float32(2**-126)


def decode_e4m3(code):
    sign, exponent, mantissa = (-1) ** (code >> 7), code >> 3 & 15, code & 7
    if code & 0x7F == 0x7F:
        return math.nan
    return sign * (2.0 ** (exponent - 7) * (1 + mantissa / 8) if exponent else 2.0**-6 * mantissa / 8)


def encode_e4m3(x):
    if math.isnan(x):
        return 0x7F
    values = [decode_e4m3(code) for code in range(0x7F)]
    size = min(abs(x), 448.0)
    code = min(range(0x7F), key=lambda code: (abs(values[code] - size), code & 1))
    return code + 0x80 * (math.copysign(1, x) < 0)


def tensor_scale(x):
    return max(np.abs(x).max() / LARGEST, TINY)


def e8m0_round_up(amax):
    mantissa, exponent = math.frexp(amax / 448)
    return min(max((exponent - 1 if mantissa == 0.5 else exponent) + 127, 0), 254) if amax else 0


def _tiled(x, rows, columns):
    tiles = x.reshape(x.shape[0] // rows, rows, x.shape[1] // columns, columns)
    scale = np.maximum(np.abs(tiles).max(axis=(1, 3)) / LARGEST, TINY)
    inverse = (np.float32(1) / scale)[:, None, :, None]
    return (tiles * inverse).reshape(x.shape).astype(E4M3).astype(np.float32), scale


def quantize_1x128(x):
    return _tiled(x, 1, 128)


def quantize_128x128(w):
    return _tiled(w, 128, 128)


def quantize_nvfp4(x):
    enc = np.float32(6 * 448) / np.abs(x).max()
    tiles = x.reshape(x.shape[0], -1, 16)
    s = np.minimum(np.abs(tiles).max(axis=2) * (enc * (np.float32(1) / np.float32(6))), LARGEST)
    s = s.astype(E4M3).astype(np.float32)
    outer = np.float32(1) / enc
    inverse = np.divide(np.float32(1), s * outer, out=np.zeros_like(s), where=s > 0)
    q = np.clip(tiles * inverse[:, :, None], -6, 6).astype(E2M1).astype(np.float32)
    return outer, s, q.reshape(x.shape)


def round_stochastic(x, random):
    whole = math.floor(x)
    return whole + (math.floor((x - whole) * 256) + random >= 256)


def hadamard16(x, signs):
    h = np.ones((1, 1))
    while len(h) < 16:
        h = np.block([[h, h], [h, -h]])
    return h @ (x * signs) / 4


def promoted_dot(a, b, chain):
    total = np.float32(0)
    for start in range(0, len(a), 128):
        total = np.float32(total + chain(a[start : start + 128], b[start : start + 128]))
    return total


def cast(x):
    """A plain cast, which has no clamp."""
    return int(np.float64(x).astype(E4M3).view(np.uint8)) if not math.isnan(x) else 0x7F


MISTAKES = {
    "no subnormals": ("decode_e4m3", lambda c: 2.0 ** ((c >> 3 & 15) - 7) * (1 + c % 8 / 8), "no hidden 1"),
    "an infinity": ("decode_e4m3", lambda c: math.inf if c & 0x78 == 0x78 else decode_e4m3(c), "no infinity"),
    "ties away": ("encode_e4m3", lambda x: encode_e4m3(x * (1 + 1e-9)), "half way"),
    "no clamp": ("encode_e4m3", lambda x: cast(x), "stays there"),
    "an inverse": ("tensor_scale", lambda x: LARGEST / np.abs(x).max(), "no inverse"),
    "max, not amax": ("tensor_scale", lambda x: max(x.max() / LARGEST, TINY), "sign does not count"),
    "floor": (
        "e8m0_round_up",
        lambda amax: max(math.frexp(amax)[1] - 1 - 8 + 127, 0) if amax else 0,
        "next power",
    ),
    "columns first": ("quantize_1x128", lambda x: (_tiled(x, 1, 128)[0], _tiled(x, 1, 128)[1].T), "shape"),
    "no scales": ("quantize_1x128", lambda x: _tiled(x, 1, 128)[0], "is 1, and 2 are needed"),
    "lines": ("quantize_128x128", lambda w: _tiled(w, 1, 128), "the shape (256, 2), and (2, 2)"),
    "one level": ("quantize_nvfp4", lambda x: (np.float32(1), *quantize_nvfp4(x)[1:]), "tensor's scale"),
    "nearest": ("round_stochastic", lambda x, random: round(x), "added it"),
    "no length kept": ("hadamard16", lambda x, signs: 4 * hadamard16(x, signs), "a quarter as large"),
    "signs after": ("hadamard16", lambda x, signs: signs * hadamard16(x, np.ones(16)), "before the matrix"),
    "one chain": ("promoted_dot", lambda a, b, chain: chain(a, b), "One chain over all"),
    "numpy": ("promoted_dot", lambda a, b, chain: np.float32(a @ b), "Partial sums"),
    "a word": ("tensor_scale", lambda x: "one", "'one', and a number is needed"),
    "nothing": ("hadamard16", lambda x, signs: None, "an array of the shape (16,) is needed"),
}
"""Exercise, wrong answer, and words of what it is told."""
