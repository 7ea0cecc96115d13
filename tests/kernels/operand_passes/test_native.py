"""Contract: which block-scaled instruction multiplies a matmul is known without a GPU, or why none does."""

from dataclasses import replace

import pytest

from fp8core.formats import FORMATS
from fp8core.recipes import RECIPES, MatmulSpec, OperandSpec
from fp8core.scales import OuterScale
from fp8core.tiles import WHOLE, TileShape
from kernels.device import ADA, BLACKWELL, BLACKWELL_RTX, HOPPER, INTERPRETER, Unsupported
from kernels.operand_passes.native import (
    NATIVE,
    NativeKind,
    ScaledCore,
    given_format,
    kind_of,
    native_kind,
    scaled_core,
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


@pytest.mark.parametrize("device", [HOPPER, ADA, INTERPRETER], ids=lambda device: device.name)
def test_no_other_gpu_has_such_an_instruction(device):
    refused = native_kind(MX, device)
    assert isinstance(refused, Unsupported)
    assert refused.reason.startswith(f"{device.name} has no MMA that takes scales")


@pytest.mark.parametrize(
    ("capability", "core"),
    [((10, 0), "tcgen05.mma"), ((10, 3), "tcgen05.mma"), ((11, 0), "tcgen05.mma"), ((12, 1), "mma.sync")],
    ids=str,
)
def test_a_newer_minor_version_has_the_core_of_its_family(capability, core):
    assert scaled_core(replace(BLACKWELL, capability=capability)) is ScaledCore(core)


def test_a_bf16_operand_is_named():
    assert reason(replace(MX, b=None)).endswith("B stays bf16")


def test_a_tile_that_no_run_of_k_divides_is_refused():
    assert "tiles are 48 long along K" in reason(with_a(MX, tile=TileShape(1, 48)))
    assert kind_of(with_a(MX, tile=TileShape(64, 96))) is NativeKind.MXF4


def test_scales_of_two_formats_do_not_go_together():
    assert "A's scales are E8M0 and B's E4M3" in reason(replace(NV, a=MX.a))


def test_scales_of_e4m3_are_for_four_bits():
    assert "A is e4m3, and under E4M3 scales such an MMA multiplies e2m1" in reason(
        with_a(NV, format=FORMATS["e4m3"])
    )


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


@pytest.mark.parametrize("kind", NATIVE, ids=lambda kind: kind.value)
def test_a_kind_names_its_instruction_on_either_core(kind):
    for core, instruction in NATIVE[kind].instructions.items():
        assert "kind::" in instruction.ptx, core
        assert instruction.sass
    assert set(NATIVE[kind].instructions) == set(ScaledCore)
