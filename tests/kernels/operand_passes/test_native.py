"""Contract: the instruction of a matmul is known without a GPU; its passes keep every value."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fp8core.formats import FORMATS
from fp8core.packing import pack
from fp8core.recipes import RECIPES, MatmulSpec, OperandSpec
from fp8core.scales import OuterScale
from fp8core.tiles import WHOLE, TileShape
from kernels.device import BLACKWELL, BLACKWELL_RTX, DeviceKind, Unsupported
from kernels.operand_passes.bf16 import laid_out
from kernels.operand_passes.native import NATIVE, NativeKind, given_format, kind_of, native_kind
from kernels.operand_passes.native_passes import given_codes, scale_blocks
from kernels.quantize.plan import K_PADDING
from tests.kernels.cases import WHERE

KINDS = {
    "mxfp8": NativeKind.MXF8F6F4,
    "mxfp8_floor": NativeKind.MXF8F6F4,
    "mxfp8_square": NativeKind.MXF8F6F4,
    "mxfp6_e3m2": NativeKind.MXF8F6F4,
    "mxfp6_e2m3": NativeKind.MXF8F6F4,
    "deepseek_v3_pow2": NativeKind.MXF8F6F4,
    "mxfp4": NativeKind.MXF4,
    "mxfp4_train": NativeKind.MXF4,
    "nvfp4": NativeKind.MXF4NVF4,
    "nvfp4_1x16": NativeKind.MXF4NVF4,
    "four_over_six": NativeKind.MXF4NVF4,
}
REFUSED = {
    "per_tensor": "A has one scale for all of K",
    "rowwise": "A has one scale for all of K",
    "deepseek_v3": "A's scales are fp32",
    "mxint8": "A is mxint8",
    "uniform4": "A is uniform4",
}
NV = RECIPES["nvfp4"].fprop


def reason(spec: MatmulSpec) -> str:
    refused = kind_of(spec)
    assert isinstance(refused, Unsupported), refused
    return refused.reason


@pytest.mark.parametrize("device", [BLACKWELL, BLACKWELL_RTX], ids=lambda device: device.name)
@pytest.mark.parametrize("name", KINDS)
def test_a_matmul_of_small_tiles_with_one_byte_scales_is_native(name, device):
    recipe = RECIPES[name]
    for spec in (recipe.fprop, recipe.dgrad, recipe.wgrad):
        if len(spec.quantized) == 2:
            assert native_kind(spec, device) is KINDS[name]


@pytest.mark.parametrize("name", REFUSED)
def test_the_rest_is_refused_with_its_reason(name):
    assert REFUSED[name] in reason(RECIPES[name].fprop)


def test_an_outer_scale_that_changes_along_k_is_no_factor_of_d():
    def outer(k: int | None) -> OperandSpec:
        tile = TileShape(1, k)
        return replace(NV.a, scale_rule=replace(NV.a.scale_rule, outer=OuterScale(tile=tile)))

    assert kind_of(replace(NV, a=outer(WHOLE))) is NativeKind.MXF4NVF4
    assert "A's outer scale changes every 64 along K" in reason(replace(NV, a=outer(64)))


MIXED = NativeKind.MXF8F6F4
NARROW = [name for name in NATIVE[MIXED].formats if name not in NATIVE[MIXED].given]


@pytest.mark.parametrize("name", NARROW)
def test_every_narrow_code_keeps_its_value(name):
    own = FORMATS[name]
    codes = np.random.default_rng(1).integers(0, 1 << own.bits, (33, 9 * K_PADDING)).astype(np.uint8)
    codes[0, : 1 << own.bits] = np.arange(1 << own.bits)
    wide = given_codes(torch.from_numpy(pack(codes, own.bits)).to(WHERE), own, MIXED)
    values = given_format(MIXED, own).decode(wide.cpu().view(torch.uint8).numpy())
    assert wide.shape == codes.shape
    np.testing.assert_array_equal(values, own.decode(codes))
    np.testing.assert_array_equal(np.signbit(values), np.signbit(own.decode(codes)))


def blocks_of(scale: np.ndarray) -> np.ndarray:
    """Scales uint8[mn, runs] one by one in blocks of 128 × 4, as the PTX ISA draws scale_vec::1X … 4X."""
    rows, columns = (-(-size // each) for size, each in zip(scale.shape, (128, 4), strict=True))
    made = np.zeros((rows, columns, 512), np.uint8)
    for row, run in np.ndindex(scale.shape):
        place = 16 * (row % 32) + 4 * (row % 128 // 32) + run % 4
        made[row // 128, run // 4, place] = scale[row, run]
    return made


@pytest.mark.parametrize(("mn", "k"), [(128, 128), (300, 700), (1, 16)], ids=str)
@pytest.mark.parametrize("tile", [(1, 1), (1, 2), (2, 1), (32, 4)], ids=str)
@pytest.mark.parametrize("kind", NativeKind, ids=lambda kind: kind.value)
def test_scales_lie_where_the_tensor_core_reads_them(kind, tile, mn, k):
    run = NATIVE[kind].tile_k
    tile = TileShape(tile[0], tile[1] * run)
    tiles = (-(-mn // tile.mn), -(-k // tile.k))
    given = np.random.default_rng(2).integers(0, 256, tiles, dtype=np.uint8)
    spec = replaced(tile)
    made = scale_blocks(torch.from_numpy(given.T.copy()).to(WHERE).T, (mn, k), spec, kind)
    wide = given.repeat(tile.mn, 0)[:mn].repeat(tile.k // run, 1)[:, : 4 * -(-k // (4 * run))]
    expected = blocks_of(wide).reshape(made.shape)
    np.testing.assert_array_equal(made.cpu().view(torch.uint8).numpy(), expected)


def replaced(tile: TileShape):
    """An MIXED operand of other tiles."""
    from dataclasses import replace

    return replace(RECIPES["mxfp8"].fprop.a, tile=tile)


ROWS = 8


@pytest.mark.parametrize("k", [104, 130], ids=["rows that TMA reads", "rows that it does not read"])
@pytest.mark.parametrize("kept", ["alone", "in a wider matrix", "transposed"])
def test_rows_read_by_pointers_have_zeros_up_to_the_next_row(k, kept):
    wide = torch.full((ROWS, 2 * k), torch.nan, dtype=torch.bfloat16)
    wide[:, :k] = 1.0
    x = wide[:, :k]
    x = {"alone": x.contiguous(), "in a wider matrix": x, "transposed": x.T.contiguous().T}[kept]
    made = laid_out(x, DeviceKind.GPU, by_pointers=True)
    assert torch.equal(made, x)
    stride = made.stride(0)
    read = made.as_strided((ROWS, stride), (stride, 1))
    assert not read[:, k:].any()


def test_a_power_of_two_in_fp32_becomes_its_code():
    scale = torch.tensor([[2.0**-126, 1.0, 2.0**127, float("nan")]], device=WHERE).T
    made = scale_blocks(scale, (4, 32), RECIPES["mxfp8"].fprop.a, MIXED).flatten().cpu()
    assert made[0:64:16].tolist() == [1, 127, 254, 255]
    assert kind_of(RECIPES["mxfp8"].fprop) is MIXED
