"""Contract: a rotation and a saved copy give the reference's bits, in one pass or before it."""

from dataclasses import replace

import pytest

from fp8core.formats import FORMATS
from fp8core.recipes import Operand, OperandSpec
from fp8core.rotations import NVFP4_SIGNS, Rotation, RotationKind
from fp8core.scales import FP32_SCALE, SCALE_RULES, Fit, OuterScale, ScaleRule
from fp8core.tiles import WHOLE, TileShape
from tests.kernels.cases import sample
from tests.kernels.quantize.same_bits import assert_same_bits, both
from tests.sweeps import crossed

E4M3 = FORMATS["e4m3"]
LINE = OperandSpec(format=E4M3, tile=TileShape(1, 32), scale_rule=SCALE_RULES["e8m0_round_up"])
ROTATIONS = [
    Rotation(RotationKind.NVFP4_HADAMARD, len(NVFP4_SIGNS)),
    *(Rotation(RotationKind.SIGNED_HADAMARD, size, seed=size) for size in (1, 2, 32, 64, 128)),
    Rotation(RotationKind.HADAMARD, 256),
]
TWO_LEVELS = ScaleRule(format=E4M3, fit=Fit.NEAREST, outer=OuterScale(tile=TileShape(WHOLE, WHOLE)))
SAVED = {
    "turned": OperandSpec(format=E4M3, tile=TileShape(128, 1), scale_rule=SCALE_RULES["e8m0_round_up"]),
    "as it is": OperandSpec(format=E4M3, tile=TileShape(1, 128), scale_rule=FP32_SCALE),
    "whole": OperandSpec(format=FORMATS["e5m2"], tile=TileShape(WHOLE, WHOLE), scale_rule=FP32_SCALE),
    "odd": OperandSpec(format=FORMATS["mxint8"], tile=TileShape(3, 5), scale_rule=FP32_SCALE),
    "table": OperandSpec(format=FORMATS["hif8"], tile=TileShape(1, 32), scale_rule=FP32_SCALE),
    "two levels": OperandSpec(format=FORMATS["e2m1"], tile=TileShape(1, 16), scale_rule=TWO_LEVELS),
}


@pytest.mark.parametrize(
    ("rotation", "name"),
    crossed(
        {f"{one.kind.name}-{one.size}": (one,) for one in ROTATIONS},
        ("gaussian", "zeros", "huge", "inf"),
        every=3,
    ),
)
def test_runs_are_rotated_as_the_reference_does(rotation, name):
    operand = Operand(spec=replace(LINE, rotation=rotation), k_is_rows=name in ("zeros", "inf"))
    assert_same_bits(*both(sample(name, operand.stored((9, 300))), operand))


@pytest.mark.parametrize("saved", SAVED.values(), ids=SAVED)
def test_a_saved_copy_is_quantized_again_as_the_reference_does(saved):
    for name, spec in (
        ("wide", replace(LINE, tile=TileShape(1, 128))),
        ("nan", replace(LINE, rotation=ROTATIONS[0])),
    ):
        operand = Operand(spec=replace(spec, saved_as=saved), k_is_rows=name == "nan")
        assert_same_bits(*both(sample(name, operand.stored((20, 140))), operand))
