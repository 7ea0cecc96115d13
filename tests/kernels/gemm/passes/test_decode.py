"""Contract: the instructions that decode codes in registers give code · scale, for every code and every scale
with which that is a bf16 number. They run here in a small model of PTX.
"""

import re
from dataclasses import replace

import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.recipes import RECIPES
from kernels.gemm.passes.decode import Folding, decode_ptx, folding, pair_ptx

BF16 = FORMATS["bf16"]
SPEC = RECIPES["mxfp8"].fprop.a
DECODED = ("e4m3", "e5m2", "mxint8", "e2m1", "uniform4")
PLACES = {8: (0, 2, 1, 3), 4: (0, 4, 2, 6, 1, 5, 3, 7)}
"""The codes of a register in the order of the results' halves: low halves of bytes before high ones."""


def halves(register):
    """float64[..., 2]: the two bf16 numbers of a register, the lower first."""
    return BF16.decode(np.stack([register & 0xFFFF, register >> 16], axis=-1).astype(np.uint16))


def both(values):
    """uint32[...]: two numbers rounded to bf16, in a register."""
    codes = BF16.encode(values).astype(np.uint32)
    return codes[..., 0] | codes[..., 1] << 16


def byte_of(x, y, named):
    """uint32[...]: a byte of two registers as prmt names it, or its sign in all bits."""
    byte = (y if named & 4 else x) >> np.uint32(8 * (named & 3)) & 0xFF
    return np.where(byte >> 7, 0xFF, 0).astype(np.uint32) if named & 8 else byte


STEPS = {
    "mov.b32": lambda x: x,
    "shl.b32": lambda x, by: x << by,
    "shr.u32": lambda x, by: x >> by,
    "and.b32": lambda x, y: x & y,
    "or.b32": lambda x, y: x | y,
    "prmt.b32": lambda x, y, selector: sum(
        byte_of(x, y, int(selector) >> 4 * place & 15) << np.uint32(8 * place) for place in range(4)
    ),
    "lop3.b32": lambda x, y, z, table: x & y | z if table == 0xEA else None,
    "mul.lo.u32": lambda x, y: x * y,
    "max.u16x2": lambda x, y: np.maximum(x & 0xFFFF, y & 0xFFFF) | np.maximum(x >> 16, y >> 16) << 16,
    "fma.rn.bf16x2": lambda x, y, z: both(halves(x) * halves(y) + halves(z)),
}
"""All that sm_89 has, too, but for max.u16x2: it lacks mul and add of bf16x2."""


def run(ptx: str, registers: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The registers after the instructions, which name them or have numbers."""
    for line in re.sub(r"\{ \.reg [^;]*;|\}", "", ptx).split(";")[:-1]:
        name, rest = line.strip().split(" ", 1)
        to, *operands = (part.strip() for part in rest.split(","))
        values = [registers[x] if x in registers else np.uint32(int(x, 0)) for x in operands]
        registers[to] = STEPS[name](*values).astype(np.uint32)
    return registers


@pytest.mark.parametrize("name", DECODED)
def test_every_code_comes_out_times_its_scale(name):
    format_ = FORMATS[name]
    spec = replace(SPEC, format=format_)
    codes = np.arange(1 << format_.bits, dtype=np.uint8)
    values = format_.decode(codes)
    codes = codes[np.isfinite(values)]
    smallest, largest = (
        np.log2(format_.min_subnormal),
        np.ceil(np.log2(np.abs(values[np.isfinite(values)]).max())),
    )
    exponents = np.arange(int(-133 - smallest), int(127 - largest) + 1)
    each = 32 // format_.bits
    rng = np.random.default_rng(0)
    sample = np.concatenate([codes, rng.choice(codes, (64 - len(codes) % 64) % 64 + 64)])
    words = np.resize(sample, (len(sample) // each, each)).astype(np.uint32)
    register = (words << (format_.bits * np.arange(each, dtype=np.uint32))).sum(axis=1).astype(np.uint32)
    outs = each // 2
    for exponent in exponents:
        scale = both(np.full((len(register), 2), 2.0**exponent))
        registers = {f"${outs}": register, f"${outs + 1}": scale, f"${outs + 2}": scale}
        results = run(decode_ptx(spec), registers)
        got = np.concatenate([halves(results[f"${out}"]) for out in range(outs)], axis=-1)
        expected = format_.decode(words[:, PLACES[format_.bits]].astype(np.uint8)) * 2.0**exponent
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", [*DECODED, "e3m2", "e2m3"])
def test_two_codes_of_any_size_come_out_times_their_scales(name):
    format_ = FORMATS[name]
    codes = np.arange(1 << format_.bits, dtype=np.uint8)
    codes = codes[np.isfinite(format_.decode(codes))]
    words = np.stack([codes, np.roll(codes, 1)], axis=-1).astype(np.uint32)
    scales = np.ldexp(1.0, np.stack([codes % 7, codes % 5], axis=-1).astype(int) - 40)
    registers = {"$1": words[:, 0] | words[:, 1] << 16, "$2": both(scales)}
    got = halves(run(pair_ptx(replace(SPEC, format=format_)), registers)["$0"])
    np.testing.assert_array_equal(got, format_.decode(words.astype(np.uint8)) * scales)


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "mxint8"])
def test_an_infinite_scale_stands_for_nan(name):
    words = np.array([0, 0x80808080, 0x01020304, 0x41C23355], np.uint32)
    registers = {"$2": words, "$3": np.full(len(words), 0x7F807F80, np.uint32)}
    with np.errstate(invalid="ignore"):
        results = run(decode_ptx(replace(SPEC, format=FORMATS[name])), registers)
    assert np.isnan(halves(results["$0"])).all()
    assert np.isnan(halves(results["$1"])).all()


@pytest.mark.parametrize("recipe", ["nvfp4", "uniform4"])
def test_a_factor_folded_into_scales_of_e4m3_comes_out_on_the_sums(recipe):
    spec = RECIPES[recipe].fprop.a
    fold = folding(spec, RECIPES[recipe].fprop.b)
    assert fold != Folding()
    scales = FORMATS["e4m3"].decode(np.arange(127, dtype=np.uint8))
    on_scales = both(np.stack([scales, scales], axis=-1) * 2.0**fold.on_scales)
    np.testing.assert_array_equal(halves(on_scales)[:, 0], scales * 2.0**fold.on_scales)
    for word in (0x76543210, 0xFEDCBA98):
        registers = {"$4": np.full(127, word, np.uint32), "$5": on_scales, "$6": on_scales}
        results = run(decode_ptx(spec, folded=True), registers)
        got = np.concatenate([halves(results[f"${out}"]) for out in range(4)], axis=-1)
        codes = np.array(PLACES[4], np.uint8) | (word >> 28 & 8)
        expected = spec.format.decode(codes.astype(np.uint8)) * scales[:, None]
        np.testing.assert_array_equal(got * 2.0**fold.on_sums, expected)


@pytest.mark.parametrize(
    ("spec", "other"),
    [
        (RECIPES["mxfp4"].fprop.a, RECIPES["mxfp4"].fprop.b),
        (RECIPES["nvfp4"].fprop.a, RECIPES["mxfp4"].fprop.b),
        (RECIPES["nvfp4"].fprop.a, None),
        (RECIPES["mxfp8"].fprop.a, RECIPES["mxfp8"].fprop.b),
    ],
)
def test_a_factor_is_not_folded_where_a_number_may_be_far_from_1(spec, other):
    assert folding(spec, other) == Folding()
