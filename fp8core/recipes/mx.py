"""Microscaling recipes: a power of two for each 32 elements along K (OCP Microscaling Formats 1.0).

OCP's rule is the floor, which lets amax saturate; Transformer Engine, cuDNN and arXiv 2506.08027 round up.
Tiles run along K, so each copy is made of the tensor itself, never of transposed codes.
"""

from dataclasses import replace

from fp8core.formats import Format
from fp8core.recipes.recipe import Family, Recipe
from fp8core.recipes.short import (
    DEQUANTIZED,
    E2M1,
    E2M3,
    E3M2,
    E4M3,
    MXINT8,
    matmul,
    operand,
    stochastic,
    wgrad,
)
from fp8core.recipes.spec import OperandSpec
from fp8core.rotations import Rotation, RotationKind
from fp8core.scales import E8M0_FLOOR, E8M0_ROUND_UP, OuterScale, ScaleRule
from fp8core.tiles import WHOLE, TileShape

_K = 32
_OCP = "OCP Microscaling Formats (MX) 1.0"


def _line(element: Format, rule: ScaleRule = E8M0_ROUND_UP) -> OperandSpec:
    return operand(element, 1, _K, rule)


def _mx(name: str, title: str, spec: OperandSpec, source: str, remark: str = "") -> Recipe:
    """One format and one rule for all six operands."""
    return Recipe(
        name=name,
        title=title,
        family=Family.MX,
        source=source,
        fprop=matmul(spec, spec, DEQUANTIZED),
        dgrad=matmul(spec, spec, DEQUANTIZED),
        wgrad=wgrad(spec, spec, DEQUANTIZED),
        remark=remark,
    )


_SQUARE = operand(E4M3, _K, _K, E8M0_ROUND_UP)
_QUARTER_LESS = replace(E8M0_FLOOR, outer=OuterScale(tile=TileShape(WHOLE, WHOLE), constant=4 / 3))
"""Codes of 3/4 of the numbers: floor leaves amax below twice the power of two, so it fits e2m1's 6."""
_ROTATED = replace(
    stochastic(_line(E2M1, _QUARTER_LESS)), rotation=Rotation(RotationKind.SIGNED_HADAMARD, 64)
)

PUBLISHED = (
    _mx(
        "mxfp8",
        "MXFP8",
        _line(E4M3),
        f"{_OCP}; Mishra et al., Recipes for Pre-training LLMs with MXFP8, arXiv 2506.08027",
    ),
    _mx(
        "mxfp8_floor",
        "MXFP8, floor",
        _line(E4M3, E8M0_FLOOR),
        f"{_OCP}, section 6.3; torchao, ScaleCalculationMode.FLOOR",
        "OCP's own rule. It lets the largest elements of many tiles saturate, and pre-training can diverge "
        "with it (arXiv 2506.08027).",
    ),
    Recipe(
        name="mxfp8_square",
        title="MXFP8, square weights",
        family=Family.MX,
        source="Transformer Engine and torchao, MXFP8 with 32x32 weight scaling; Mishra et al., "
        "arXiv 2506.08027, on the copies that 1x32 tiles need",
        fprop=matmul(_line(E4M3), _SQUARE, DEQUANTIZED),
        dgrad=matmul(_line(E4M3), _SQUARE, DEQUANTIZED),
        wgrad=wgrad(_line(E4M3), _line(E4M3), DEQUANTIZED),
        remark="A square tile lies alike for Fprop and Dgrad, so both read the same weights.",
    ),
    _mx(
        "mxfp6_e3m2",
        "MXFP6, e3m2",
        _line(E3M2),
        f"{_OCP}; Rouhani et al., Microscaling Data Formats for Deep Learning, arXiv 2310.10537",
    ),
    _mx(
        "mxfp6_e2m3",
        "MXFP6, e2m3",
        _line(E2M3),
        f"{_OCP}; Rouhani et al., arXiv 2310.10537",
    ),
    _mx("mxfp4", "MXFP4", _line(E2M1), f"{_OCP}; Rouhani et al., arXiv 2310.10537"),
    _mx(
        "mxint8",
        "MXINT8",
        _line(MXINT8),
        f"{_OCP}; Rouhani et al., arXiv 2310.10537",
        "The OCP rule is the floor, which clips what lies above 127/64 times the power of two.",
    ),
    Recipe(
        name="mxfp4_train",
        title="MXFP4 gradients",
        family=Family.MX,
        source="Tseng et al., Training LLMs with MXFP4, arXiv 2502.20586",
        fprop=matmul(None, None, DEQUANTIZED),
        dgrad=matmul(_ROTATED, _ROTATED, DEQUANTIZED),
        wgrad=wgrad(_ROTATED, _ROTATED, DEQUANTIZED),
        remark="Fprop stays in bf16. The paper draws new signs in each step; here they are fixed by a seed.",
    ),
)
