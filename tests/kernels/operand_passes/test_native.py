"""Contract: which block-scaled instruction multiplies a matmul is known without a GPU, or why none does."""

from dataclasses import replace

import pytest

from fp8core.formats import FORMATS
from fp8core.recipes import RECIPES, MatmulSpec, OperandSpec
from fp8core.scales import OuterScale
from fp8core.tiles import WHOLE, TileShape
from kernels.device import BLACKWELL, BLACKWELL_RTX, Unsupported
from kernels.operand_passes.native import (
    NativeKind,
    given_format,
    kind_of,
    native_kind,
)

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
MX, NV = RECIPES["mxfp4"].fprop, RECIPES["nvfp4"].fprop


def with_a(spec: MatmulSpec, **change: object) -> MatmulSpec:
    """The matmul with another A."""
    return replace(spec, a=replace(spec.a, **change))


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


def test_formats_of_several_widths_meet_in_the_widest_kind():
    mixed = with_a(MX, format=FORMATS["e5m2"])
    assert kind_of(mixed) is NativeKind.MXF8F6F4
    given = [given_format(NativeKind.MXF8F6F4, operand.format).name for operand in mixed.quantized]
    assert given == ["e5m2", "e4m3"]
